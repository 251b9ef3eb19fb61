import assert from "node:assert/strict";
import { fingerprint } from "../../src/core/crypto/crypto.ts";
import { Events, resultOf, statusOf } from "../kit/answer.ts";
import type { Json } from "../kit/message.ts";
import type { TestSession } from "../kit/server.ts";
import { type Cluster, type Member, startCluster } from "../kit/cluster.ts";

const CAPABILITIES = { elicitation: { form: {} }, sampling: {} };

/** Opens a session on one process and calls a tool on another. */
async function ask(
  { opened, called }: { opened: Member; called: Member },
  tool: string,
): Promise<{ session: TestSession; events: Events; question: Json }> {
  const opening = await opened.openSession({ capabilities: CAPABILITIES });
  const session = opening.at(called);
  const events = new Events(
    await session.request("tools/call", {
      name: tool,
      arguments: { name: "secret" },
    }),
  );
  return { session, events, question: await events.read() };
}

async function answer(
  session: TestSession,
  { id }: Json,
  result: Json,
): Promise<number> {
  return await statusOf(session.post({ jsonrpc: "2.0", id, result }));
}

/** Reads the one text of the message that ends a stream. */
async function lastText(events: Events): Promise<Json> {
  const { result } = await events.read();
  assert.equal((await events.next()).done, true);
  return JSON.parse(result.content[0].text);
}

function said(text: string) {
  return { role: "assistant", model: "test", content: { type: "text", text } };
}

const accepted = { action: "accept", content: { word: "yes" } };

Deno.test("a question reaches its answer across processes", async (t) => {
  await using cluster: Cluster = await startCluster();
  const { a, b } = cluster;

  await t.step("elicitation asked on A, answered on B", async () => {
    const { session, events, question } = await ask(
      { opened: b, called: a },
      "ask",
    );
    assert.equal(question.params.message, "secret");
    assert.equal(await answer(session.at(b), question, accepted), 202);
    const { name, said } = await lastText(events);
    assert.deepEqual({ name, said }, { name: "secret", said: "yes" });
  });

  await t.step("an answer in another session is dropped", async () => {
    const { session, events, question } = await ask(
      { opened: a, called: a },
      "ask",
    );
    const stranger = await b.openSession({ capabilities: CAPABILITIES });
    const lie = { action: "accept", content: { word: "a lie" } };
    assert.equal(await answer(stranger, question, lie), 202);
    assert.equal(await answer(session.at(b), question, accepted), 202);
    assert.equal((await lastText(events)).said, "yes");
  });

  await t.step("of two answers posted at once, one counts", async () => {
    const { session, events, question } = await ask(
      { opened: a, called: b },
      "ask",
    );
    const words = ["one", "two"];
    await Promise.all(words.map((word, i) => {
      const content = { action: "accept", content: { word } };
      return answer(session.at(i ? a : b), question, content);
    }));
    assert(words.includes((await lastText(events)).said));
  });

  for (const length of [100_000, 2_000_000]) {
    await t.step(`sampling answered with ${length} characters`, async () => {
      const { session, events, question } = await ask(
        { opened: a, called: a },
        "sample",
      );
      assert.equal(question.method, "sampling/createMessage");
      const text = "wörd ".repeat(length / 5);
      assert.equal(await answer(session.at(b), question, said(text)), 202);
      assert.deepEqual(await lastText(events), {
        name: "secret",
        length: text.length,
        fingerprint: fingerprint(text),
      });
    });
  }

  await t.step("an ended session lets its questions go", async () => {
    const { session, events } = await ask({ opened: a, called: a }, "ask");
    await (await session.at(b).end()).body?.cancel();
    const { result } = await events.read();
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /did not answer/);
    await events.close();
  });

  await t.step("nothing of all this stays in the database", async () => {
    for (const kind of ["reply", "text"]) {
      const left = await Array.fromAsync(cluster.kv.list({ prefix: [kind] }));
      assert.deepEqual(left, []);
    }
  });
});

Deno.test("a request state crosses processes", async (t) => {
  await using cluster: Cluster = await startCluster();
  const { a, b } = cluster;

  /**
   * Sends one round of a 2026 call; the tool chooses the name of the question.
   */
  async function round(
    at: Member,
    name: string,
    more: Json = {},
    secret = "secret",
  ): Promise<Response> {
    const params = { name, arguments: { name: secret }, ...more };
    return await at.call("tools/call", params, { capabilities: CAPABILITIES });
  }

  async function askedBy(at: Member, name: string): Promise<Json> {
    const { resultType, inputRequests, requestState } = await resultOf(
      round(at, name),
    );
    assert.equal(resultType, "input_required");
    const [key] = Object.keys(inputRequests);
    return { requestState, inputResponses: { [key]: accepted } };
  }

  await t.step("sealed by A, opened by B", async () => {
    const state = await askedBy(a, "ask");
    const { content } = await resultOf(round(b, "ask", state));
    assert.equal(JSON.parse(content[0].text).said, "yes");
  });

  await t.step("sealed by A, refused by B for another request", async () => {
    const state = await askedBy(a, "ask");
    const { error } = await (await round(b, "ask", state, "other")).json();
    assert.equal(error.code, -32602);
  });

  await t.step("spent on A, refused on B", async () => {
    const state = await askedBy(b, "ask_once");
    const { content } = await resultOf(round(a, "ask_once", state));
    assert.equal(JSON.parse(content[0].text).said, "yes");
    const { error } = await (await round(b, "ask_once", state)).json();
    assert.equal(error.code, -32602);
  });

  await t.step("spent on A and on B at once, taken once", async () => {
    const state = await askedBy(a, "ask_once");
    const answers = await Promise.all(
      [a, b].map(async (at) =>
        await (await round(at, "ask_once", state)).json()
      ),
    );
    assert.equal(answers.filter(({ result }) => result).length, 1);
  });
});
