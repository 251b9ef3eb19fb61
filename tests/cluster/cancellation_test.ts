import assert from "node:assert/strict";
import { Events } from "../kit/answer.ts";
import type { Json } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import { type Cluster, type Member, startCluster } from "../kit/cluster.ts";

const held = (name: string) => ({
  name: "hold",
  arguments: { name },
  _meta: { progressToken: name },
});

async function firedAt(member: Member, name: string): Promise<number | null> {
  const { structuredContent } = await member.tool("look", { name });
  return structuredContent.firedMilliseconds;
}

async function drop(response: Response | Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

/** Reads the remaining messages of a stream. */
async function rest(events: Events): Promise<Json[]> {
  return await Array.fromAsync(events);
}

Deno.test("cancellation across processes", async (t) => {
  await using cluster: Cluster = await startCluster();
  const { a, b } = cluster;

  await t.step("a 2025 request on A is cancelled through B", async () => {
    const session = await a.openSession();
    const events = new Events(
      await session.request("tools/call", held("far"), 7),
    );
    assert.equal((await events.read()).method, "notifications/progress");
    const params = { requestId: 7 };
    const status = await drop(
      session.at(b).notify("notifications/cancelled", params),
    );
    assert.equal(status, 202);
    assert.deepEqual(await rest(events), []);
    await until(async () => await firedAt(a, "far") !== null);
  });

  await t.step("an id of another type or session cancels nothing", async () => {
    const session = await a.openSession();
    const stranger = await b.openSession();
    const events = new Events(
      await session.request("tools/call", held("spared"), 8),
    );
    await events.read();
    for (
      const [by, requestId] of [[stranger, 8], [session.at(b), "8"]] as const
    ) {
      await drop(by.notify("notifications/cancelled", { requestId }));
    }
    // This arrives after anything B was told before.
    await drop(
      session.at(b).notify("notifications/cancelled", { requestId: 9 }),
    );
    const other = new Events(
      await session.request("tools/call", held("other"), 10),
    );
    await other.read();
    await drop(
      session.at(b).notify("notifications/cancelled", { requestId: 10 }),
    );
    assert.deepEqual(await rest(other), []);
    assert.equal(await firedAt(a, "spared"), null);
    await drop(session.notify("notifications/cancelled", { requestId: 8 }));
    assert.deepEqual(await rest(events), []);
    await until(async () => await firedAt(a, "spared") !== null);
  });

  await t.step(
    "an id used again is not hit by its old cancellation",
    async () => {
      const session = await a.openSession();
      const first = new Events(
        await session.request("tools/call", held("first"), 1),
      );
      await first.read();
      await drop(
        session.at(b).notify("notifications/cancelled", { requestId: 1 }),
      );
      assert.deepEqual(await rest(first), []);
      const params = { name: "count", arguments: countTo(5, "again") };
      const response = await session.request("tools/call", params, 1);
      const text = await response.text();
      assert.match(text, /again/);
    },
  );

  await t.step("closing the stream of a 2026 request cancels it", async () => {
    const closing = new AbortController();
    const response = await a.call("tools/call", held("closed"), {
      meta: { progressToken: 1 },
      signal: closing.signal,
    });
    const events = new Events(response);
    await events.read();
    closing.abort();
    await until(async () => await firedAt(a, "closed") !== null);
    await assert.rejects(events.read());
  });

  await t.step("a quiet 2026 request is cancelled too", async () => {
    const closing = new AbortController();
    const params = { name: "hold", arguments: { name: "quiet" } };
    const { signal } = closing;
    const response = await a.call("tools/call", params, { signal });
    // Slow calls become streams: the headers come before any message.
    const events = new Events(response);
    closing.abort();
    await until(async () => await firedAt(a, "quiet") !== null);
    await assert.rejects(events.read());
  });

  await t.step(
    "clients that leave in mid-stream leave nothing behind",
    async () => {
      await Promise.all(Array.from({ length: 300 }, async (_, i) => {
        const steps = i % 2 ? 2 : 1000;
        const params = {
          name: "count",
          arguments: { name: `left ${i}`, steps, pauseMilliseconds: 10 },
        };
        const response = await a.call("tools/call", params, {
          meta: { progressToken: 1 },
        });
        const events = new Events(response);
        for (let seen = i % 3; seen >= 0; seen--) await events.read();
        await events.close();
      }));
      await until(async () => {
        const { structuredContent } = await a.tool("vitals");
        return structuredContent.running === 0;
      });
    },
  );

  await t.step("a dropped 2025 connection cancels nothing", async () => {
    const session = await a.openSession();
    const params = {
      name: "count",
      arguments: countTo(5, "dropped"),
      _meta: { progressToken: 1 },
    };
    const events = new Events(await session.request("tools/call", params));
    await events.read();
    await events.close();
    await until(async () => {
      const { structuredContent } = await a.tool("look", { name: "dropped" });
      return structuredContent.outcome === "counted";
    });
  });
});

function countTo(steps: number, name: string) {
  return { name, steps, pauseMilliseconds: 100 };
}
