/** Clients that leave in the moment in which their approved run begins. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { test } from "../../kit/databases.ts";
import { kvWith } from "../../kit/kv.ts";
import { recordLog } from "../../kit/log.ts";
import { type Json, rpc } from "../../kit/message.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { FORMS, linkOf, open, OPENS, press } from "./approving.ts";

/** A handle in which the commit that begins a run waits for `release`. */
function holding(real: Deno.Kv) {
  const held = Promise.withResolvers<void>();
  let hasHeld = false;
  const kv = kvWith(real, {
    atomic() {
      const operation = real.atomic();
      const [set, commit] = [operation.set, operation.commit];
      let begins = false;
      operation.set = (key, value: Json, options) => {
        begins ||= value.state === "used";
        return set.call(operation, key, value, options);
      };
      operation.commit = async () => {
        if (begins) {
          hasHeld = true;
          await held.promise;
        }
        return await commit.call(operation);
      };
      return operation;
    },
  });
  return { kv, hasHeld: () => hasHeld, release: held.resolve };
}

/** The ways of a client to leave its call number 7. */
const WAYS = ["closes its stream", "cancels its call"] as const;

for (const way of WAYS) {
  for (const capabilities of [OPENS, FORMS]) {
    const opens = capabilities === OPENS;
    // A client without a stream has none to close.
    if (!opens && way === "closes its stream") continue;
    test.inMemory(`a client that ${opens ? "opens pages" : "calls again"} and ${way} as its run begins leaves its approval for the next call`, async ({ kv }) => {
      const runs: string[] = [];
      const { log, events } = recordLog();
      const tools = [tool({
        name: "pay",
        input: z.object({ id: z.string() }),
        limit: { callsAtOnce: 1 },
        approval: {},
        run: (_, { approval }) => `paid ${runs.push(approval!.id)}`,
      })];
      const begun = holding(kv);
      await using server = await startOAuthServer({ kv: begun.kv, tools, log });
      await using other = await startOAuthServer({ kv, tools });
      const { headers } = await server.person();
      const session = await server.openSession({ headers, capabilities });
      const params = { name: "pay", arguments: { id: "a" } };
      const ask = () => session.request("tools/call", params, 7);
      let stream = opens ? new Events(await ask()) : undefined;
      const link = stream
        ? (await stream.read()).params.url
        : linkOf(await resultOf(ask()));
      const visitor = await open(other, link);
      await press(visitor, "approve");
      const calling = opens ? undefined : ask();
      await until(begun.hasHeld);
      if (way === "cancels its call") {
        await session.notify("notifications/cancelled", { requestId: 7 });
      } else await stream!.close();
      // A call whose person is asked ends before its run has begun.
      if (opens) await until(() => server.app.running === 0);
      begun.release();
      stream ??= new Events(await calling!);
      await stream.close();
      await until(() => server.app.running === 0);

      const page = async () => {
        visitor.page = await visitor.browser.open(link);
        return visitor.words;
      };
      await until(async () => /Approved\. It begins when/.test(await page()));
      assert.match(await visitor.look("/calls"), /Approvals .* Not used/);
      assert.deepEqual(runs, []);
      const again = await resultOf(
        session.at(other).request("tools/call", params),
      );
      assert.equal(again.content[0].text, "paid 1");
      assert.match(await page(), /It was done\./);
      assert.match(await visitor.look("/calls"), /Approvals .* Done/);
      // The place of the call that was left is free.
      const more = { ...params, arguments: { id: "b" } };
      const { headers: next } = await server.openSession({ headers });
      linkOf(await resultOf(server.post(rpc("tools/call", more), next)));
      assert.ok(!events.some(({ message }) => /A run has/.test(message)));
    });
  }
}

Deno.test("the receipt and the page of a call that was cancelled in its run say that it may have been done", async () => {
  const paid: string[] = [];
  const pay = tool({
    name: "pay",
    approval: {},
    run: (_, { signal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        paid.push("paid");
      }),
  });
  await using server = await startOAuthServer({ tools: [pay] });
  const { headers } = await server.person();
  const session = await server.openSession({ headers, capabilities: FORMS });
  const ask = () => session.request("tools/call", { name: "pay" }, 7);
  const link = linkOf(await resultOf(ask()));
  const visitor = await open(server, link);
  await press(visitor, "approve");
  const calling = ask();
  await until(() => paid.length === 1);
  await session.notify("notifications/cancelled", { requestId: 7 });
  await until(() => server.app.running === 0);
  await new Events(await calling).close();
  const unknown =
    /cancelled in the middle: some or all of it may have been done/;
  await until(async () => {
    visitor.page = await visitor.browser.open(link);
    return unknown.test(visitor.words);
  });
  await visitor.look("/calls");
  assert.match(
    visitor.words,
    /Approvals .* Cancelled In the middle: some or all/,
  );
  // The page of the next approval of the same says so too.
  const again = linkOf(await resultOf(ask()));
  visitor.page = await visitor.browser.open(again);
  assert.match(visitor.words, unknown);
});
