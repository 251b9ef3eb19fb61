/** Questions to 2025 clients: asked on the stream, answered by a POST. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../../src/authoring/tool.ts";
import { REPLY_SECONDS } from "../../../../src/core/store/replies.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { Events, resultOf } from "../../../kit/answer.ts";
import type { Json } from "../../../kit/message.ts";
import { startServer, type TestSession } from "../../../kit/server.ts";
import { until } from "../../../kit/wait.ts";

const who = tool({
  name: "who",
  async run(_input, { ask }) {
    const schema = z.object({ name: z.string() });
    const answer = await ask({ message: "Who?", schema });
    return answer.action === "accept" ? answer.content.name : answer.action;
  },
});

const think = tool({
  name: "think",
  async run(_input, { sample }) {
    const { content } = await sample({ messages: [], maxTokens: 10 });
    return `${JSON.stringify(content).length}`;
  },
});

const where = tool({
  name: "where",
  run: async (_input, { roots }) =>
    (await roots()).map(({ uri }) => uri).join(),
});

const TOOLS = { tools: [who, think, where] };
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

/** Calls a tool and reads until it asks. */
async function ask(session: TestSession, name: string) {
  const events = new Events(await session.request("tools/call", { name }));
  return { events, question: await events.read() };
}

function answer(
  session: TestSession,
  { id }: Json,
  result: unknown,
): Promise<Response> {
  return session.post({ jsonrpc: "2.0", id, result });
}

const ADA = { action: "accept", content: { name: "Ada" } };

/** Reads the text that ends a stream. */
async function textOf(events: Events): Promise<string> {
  const { result } = await events.read();
  assert.equal((await events.next()).done, true);
  return result.content[0].text;
}

Deno.test("a form that does not match is put again on the stream", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events, question } = await ask(session, "who");
  const wrong = { action: "accept", content: { name: null } };
  await answer(session, question, wrong);
  const again = await events.read();
  assert.equal(again.method, "elicitation/create");
  assert.match(again.params.message, /Please correct:\n- name: /);
  await answer(session, again, ADA);
  assert.equal(await textOf(events), "Ada");
});

Deno.test("a question is a request on the stream, its answer a POST", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events, question } = await ask(session, "who");
  const { id, method, params: { mode, message, requestedSchema } } = question;
  assert.match(id, /^[\w-]{22}$/);
  assert.deepEqual([method, mode, message], [
    "elicitation/create",
    "form",
    "Who?",
  ]);
  assert.deepEqual(requestedSchema.required, ["name"]);
  const posted = await answer(session, question, ADA);
  assert.deepEqual([posted.status, posted.body], [202, null]);
  assert.equal(await textOf(events), "Ada");
});

Deno.test("an answer reaches the tool from any server on the database", async () => {
  await using first = await startServer(TOOLS);
  await using second = await startServer({ ...TOOLS, kv: first.kv });
  const session = await first.openSession({ capabilities: CAPABILITIES });
  const { events, question } = await ask(session, "who");
  await answer(session.at(second), question, ADA);
  assert.equal(await textOf(events), "Ada");
});

Deno.test("decline and cancel reach the tool as what they are", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  for (const action of ["decline", "cancel"]) {
    const { events, question } = await ask(session, "who");
    await answer(session, question, { action });
    assert.equal(await textOf(events), action);
  }
});

Deno.test("sampling answers may be larger than a record", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events, question } = await ask(session, "think");
  assert.equal(question.method, "sampling/createMessage");
  const content = { type: "text", text: "a".repeat(1_000_000) };
  await answer(session, question, { model: "m", role: "assistant", content });
  assert.equal(await textOf(events), `${JSON.stringify(content).length}`);
});

Deno.test("roots are asked for", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events, question } = await ask(session, "where");
  assert.equal(question.method, "roots/list");
  await answer(session, question, { roots: [{ uri: "file:///a" }] });
  assert.equal(await textOf(events), "file:///a");
});

Deno.test("a client's error is told to the model", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events, question } = await ask(session, "who");
  const error = { code: -1, message: "no window" };
  await session.post({ jsonrpc: "2.0", id: question.id, error });
  assert.equal(
    await textOf(events),
    "The client refused elicitation/create: no window",
  );
});

Deno.test("what the client did not declare is not asked, and the model knows", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession();
  const { isError, content } = await resultOf(
    session.request("tools/call", { name: "who" }),
  );
  assert.equal(isError, true);
  assert.match(content[0].text, /does not support elicitation/);
});

Deno.test("only the first answer counts, and only from the session that was asked", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const other = await server.openSession({ capabilities: CAPABILITIES });
  const { events, question } = await ask(session, "who");
  const eve = { action: "accept", content: { name: "Eve" } };
  await answer(other, question, eve);
  await answer(session, { id: "guess" }, eve);
  await answer(session, question, ADA);
  await answer(session, question, eve);
  assert.equal(await textOf(events), "Ada");
});

Deno.test("two tools that ask at once get their own answers", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const asked = await Promise.all(
    Array.from({ length: 20 }, () => ask(session, "who")),
  );
  assert.equal(new Set(asked.map(({ question }) => question.id)).size, 20);
  await Promise.all(
    asked.map(({ question }, n) =>
      answer(session, question, { action: "accept", content: { name: `${n}` } })
    ),
  );
  const texts = await Promise.all(asked.map(({ events }) => textOf(events)));
  assert.deepEqual(texts, asked.map((_, n) => `${n}`));
});

Deno.test("a question that no one answers ends with its hour", async () => {
  using time = new FakeTime();
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events } = await ask(session, "who");
  time.tick(REPLY_SECONDS);
  assert.equal(
    await textOf(events),
    "The client did not answer elicitation/create",
  );
});

Deno.test("cancelling the request ends the wait for an answer", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events } = await ask(session, "who");
  await session.notify("notifications/cancelled", { requestId: 1 });
  assert.equal((await events.next()).done, true);
  await until(async () =>
    (await Array.fromAsync(server.kv.list({ prefix: ["reply"] }))).length === 0
  );
});

Deno.test("stop() ends the wait for an answer", async () => {
  await using server = await startServer(TOOLS);
  const session = await server.openSession({ capabilities: CAPABILITIES });
  const { events } = await ask(session, "who");
  server.app.stop();
  assert.equal(await textOf(events), "The server stops");
});
