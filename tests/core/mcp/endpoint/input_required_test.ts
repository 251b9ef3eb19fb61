/** Questions to 2026 clients: a request ends with them and is sent again. */
import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { resource } from "../../../../src/authoring/resource.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { REQUEST_STATE_SECONDS } from "../../../../src/core/protocol/input_rounds.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import type { Json } from "../../../kit/message.ts";
import { messagesOf, refusal, resultOf, textOf } from "../../../kit/answer.ts";
import { startServer, type TestServer } from "../../../kit/server.ts";

const NAME = z.object({ name: z.string() });
const AGE = z.object({ age: z.int() });

const meet = tool({
  name: "meet",
  input: z.object({ greeting: z.string().default("Hello") }),
  async run({ greeting }, { ask }) {
    const name = await ask({
      message: "Your name?",
      schema: NAME,
      key: "name",
    });
    if (name.action !== "accept") return name.action;
    const age = await ask({ message: "Your age?", schema: AGE, key: "age" });
    if (age.action !== "accept") return age.action;
    return `${greeting} ${name.content.name}, ${age.content.age}`;
  },
});

const both = tool({
  name: "both",
  async run(_input, { ask, roots }) {
    const [name, list] = await Promise.all([
      ask({ message: "Your name?", schema: NAME }),
      roots(),
    ]);
    return `${name.action} ${list.length}`;
  },
});

const pay = tool({
  name: "pay",
  singleUse: true,
  async run(_input, { ask }) {
    const { action } = await ask({ message: "Pay?", schema: NAME, key: "pay" });
    return `paid: ${action}`;
  },
});

const talk = tool({
  name: "talk",
  async run(_input, { progress, roots }) {
    await progress(1);
    return `${(await roots()).length}`;
  },
});

const DEFINITIONS = {
  tools: [meet, both, pay, talk],
  // One has the name of a single-use tool.
  prompts: ["ask", "pay"].map((name) =>
    prompt({
      name,
      get: async (_args, { roots }) => `${(await roots()).length} roots`,
    })
  ),
  resources: [resource({
    uri: "notes://asked",
    name: "asked",
    read: async (_variables, { roots }) => `${(await roots()).length} roots`,
  })],
};

const capabilities = { elicitation: {}, roots: {} };
const ADA = { action: "accept", content: { name: "Ada" } };
const AGED = { action: "accept", content: { age: 36 } };

function start(kv?: Deno.Kv) {
  return startServer({ ...DEFINITIONS, kv });
}

/** Sends one round of a call. */
function round(server: TestServer, name: string, more = {}): Promise<Response> {
  return server.call("tools/call", { name, ...more }, { capabilities });
}

/** Gives the result of the first round. */
async function firstRound(server: TestServer, name: string): Promise<Json> {
  return await resultOf(round(server, name));
}

Deno.test("a question ends the request, which comes again with the answer", async () => {
  await using server = await start();
  const first = await firstRound(server, "meet");
  assert.equal(first.resultType, "input_required");
  assert.deepEqual(Object.keys(first.inputRequests), ["name"]);
  const { method, params } = first.inputRequests.name;
  assert.deepEqual([method, params.message], [
    "elicitation/create",
    "Your name?",
  ]);
  const second = await resultOf(round(server, "meet", {
    requestState: first.requestState,
    inputResponses: { name: ADA },
  }));
  assert.deepEqual(Object.keys(second.inputRequests), ["age"]);
  const third = await resultOf(round(server, "meet", {
    requestState: second.requestState,
    inputResponses: { age: AGED },
  }));
  assert.equal(third.resultType, "complete");
  assert.equal(third.content[0].text, "Hello Ada, 36");
});

Deno.test("the rounds of a request may reach different servers", async () => {
  await using first = await start();
  await using second = await start(first.kv);
  const { requestState } = await firstRound(first, "meet");
  const { inputRequests } = await resultOf(round(second, "meet", {
    requestState,
    inputResponses: { name: ADA },
  }));
  assert.deepEqual(Object.keys(inputRequests), ["age"]);
});

Deno.test("questions asked side by side go out together", async () => {
  await using server = await start();
  const { inputRequests, requestState } = await firstRound(server, "both");
  assert.deepEqual(
    Object.entries<Json>(inputRequests).map((
      [key, { method }],
    ) => [key, method]),
    [["elicitation-1", "elicitation/create"], ["roots-2", "roots/list"]],
  );
  assert.equal(
    await textOf(round(server, "both", {
      requestState,
      inputResponses: {
        "elicitation-1": { action: "decline" },
        "roots-2": { roots: [] },
      },
    })),
    "decline 0",
  );
});

Deno.test("a missing answer is asked again, the others are kept", async () => {
  await using server = await start();
  const first = await firstRound(server, "both");
  const second = await resultOf(round(server, "both", {
    requestState: first.requestState,
    inputResponses: { "elicitation-1": ADA, unknown: ADA },
  }));
  assert.deepEqual(Object.keys(second.inputRequests), ["roots-2"]);
  assert.equal(
    await textOf(round(server, "both", {
      requestState: second.requestState,
      inputResponses: { "roots-2": { roots: [] } },
    })),
    "accept 0",
  );
});

Deno.test("prompts and resources may ask too", async () => {
  await using server = await start();
  for (
    const [method, params] of [
      ["prompts/get", { name: "ask" }],
      ["resources/read", { uri: "notes://asked" }],
    ] as const
  ) {
    const { inputRequests, requestState } = await resultOf(
      server.call(method, params, { capabilities }),
    );
    assert.deepEqual(Object.keys(inputRequests), ["roots-1"]);
    const result = await resultOf(server.call(method, {
      ...params,
      requestState,
      inputResponses: { "roots-1": { roots: [] } },
    }, { capabilities }));
    assert.match(JSON.stringify(result), /0 roots/);
  }
});

Deno.test("what precedes a question makes the answer a stream", async () => {
  await using server = await start();
  const response = await server.call("tools/call", { name: "talk" }, {
    capabilities,
    meta: { progressToken: 1 },
  });
  const [progress, { result }] = await messagesOf(response);
  assert.equal(progress.method, "notifications/progress");
  assert.equal(result.resultType, "input_required");
});

Deno.test("an answer that is none is -32602", async () => {
  await using server = await start();
  const { requestState } = await firstRound(server, "meet");
  for (
    const inputResponses of [
      [],
      "Ada",
      { name: { action: "maybe" } },
      { name: { action: "accept", content: "Ada" } },
    ]
  ) {
    const answer = round(server, "meet", { requestState, inputResponses });
    assert.equal(await refusal(answer), "200 -32602");
  }
});

/** Gives the next question after a form that was filled in wrongly. */
async function correct(
  server: TestServer,
  requestState: string,
  key: string,
  content: Json,
): Promise<Json> {
  const inputResponses = { [key]: { action: "accept", content } };
  return await resultOf(
    round(server, "meet", { requestState, inputResponses }),
  );
}

Deno.test("a form that does not match is put again, and says which field is wrong", async () => {
  await using server = await start();
  const { requestState } = await firstRound(server, "meet");
  const again = await correct(server, requestState, "name", { name: 1 });
  assert.deepEqual(Object.keys(again.inputRequests), ["name#2"]);
  const { message } = again.inputRequests["name#2"].params;
  assert.match(message, /^Your name\?\n\nPlease correct:\n- name: .*string/);
  const next = await correct(server, again.requestState, "name#2", {
    name: "Ada",
  });
  assert.deepEqual(Object.keys(next.inputRequests), ["age"]);
});

Deno.test("a form that never matches ends the call, and names the field", async () => {
  await using server = await start();
  let { requestState } = await firstRound(server, "meet");
  for (const key of ["name", "name#2"]) {
    ({ requestState } = await correct(server, requestState, key, {}));
  }
  const last = await correct(server, requestState, "name#3", {});
  assert.equal(last.isError, true);
  assert.match(last.content[0].text, /not filled in as asked:\n- name: /);
});

Deno.test("a requestState of another request is -32602", async () => {
  await using server = await start();
  const { requestState } = await firstRound(server, "meet");
  const more = { requestState, inputResponses: { name: ADA } };
  for (
    const answer of [
      round(server, "both", more),
      round(server, "meet", { ...more, arguments: { greeting: "Bye" } }),
      server.call("prompts/get", { name: "ask", ...more }, { capabilities }),
    ]
  ) assert.equal(await refusal(answer), "200 -32602");
});

Deno.test("a requestState lapses after an hour", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { requestState } = await firstRound(server, "meet");
  const more = { requestState, inputResponses: { name: ADA } };
  time.tick(REQUEST_STATE_SECONDS - 2);
  assert.ok((await resultOf(round(server, "meet", more))).inputRequests);
  time.tick(2);
  assert.equal(await refusal(round(server, "meet", more)), "200 -32602");
});

Deno.test("a requestState may be used again, unless its tool forbids it", async () => {
  await using server = await start();
  const { requestState } = await firstRound(server, "meet");
  const more = { requestState, inputResponses: { name: ADA } };
  for (let i = 0; i < 2; i++) {
    const { resultType } = await resultOf(round(server, "meet", more));
    assert.equal(resultType, "input_required");
  }
  const get = (more = {}) =>
    resultOf(
      server.call("prompts/get", { name: "pay", ...more }, { capabilities }),
    );
  const asked = await get();
  for (let i = 0; i < 2; i++) {
    const { messages } = await get({
      requestState: asked.requestState,
      inputResponses: { "roots-1": { roots: [] } },
    });
    assert.equal(messages.length, 1);
  }
});

Deno.test("a requestState is looked at although no answer comes with it", async () => {
  await using server = await start();
  const { requestState } = await firstRound(server, "meet");
  const { inputRequests } = await resultOf(
    round(server, "meet", { requestState }),
  );
  assert.deepEqual(Object.keys(inputRequests), ["name"]);
  const answer = round(server, "meet", { requestState: "x" });
  assert.equal(await refusal(answer), "200 -32602");
});

Deno.test("one of fifty uses of a single-use requestState runs, on whatever server", async () => {
  await using first = await start();
  await using second = await start(first.kv);
  const { requestState } = await firstRound(first, "pay");
  const more = { requestState, inputResponses: { pay: ADA } };
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const answer = await round(n % 2 ? first : second, "pay", more);
      const { result, error } = await answer.json();
      return result?.content[0].text ?? error.code;
    }),
  );
  assert.deepEqual(answers.filter((answer) => answer !== -32602), [
    "paid: accept",
  ]);
});

Deno.test("a single-use tool takes no answers without a state", async () => {
  await using server = await start();
  const inputResponses = { pay: ADA };
  const answered = await resultOf(round(server, "pay", { inputResponses }));
  assert.equal(answered.resultType, "input_required");
});

Deno.test("a tool may take answers that its client knew beforehand", async () => {
  await using server = await start();
  const inputResponses = { name: ADA, age: AGED };
  assert.equal(
    await textOf(round(server, "meet", { inputResponses })),
    "Hello Ada, 36",
  );
});

Deno.test("other methods look at no state", async () => {
  await using server = await start();
  const params = { requestState: "x", inputResponses: 1 };
  const { tools } = await resultOf(server.call("tools/list", params));
  assert.equal(tools.length, 4);
});
