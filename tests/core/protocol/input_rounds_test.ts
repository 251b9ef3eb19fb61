import assert from "node:assert/strict";
import {
  InputRounds,
  openRequestState,
  type RequestState,
  sealRequestState,
  type StateBinding,
} from "../../../src/core/protocol/input_rounds.ts";
import { CompactEncrypt, CompactSign } from "jose";
import { AskedQuestion } from "../../../src/core/protocol/question.ts";
import { rejects } from "../../kit/refuses.ts";

const METHOD = "elicitation/create";
const NAME = { message: "Your name?" };
const AGE = { message: "Your age?" };
const ADA = { action: "accept", content: { name: "Ada" } };

/** Makes the state for the next round. */
function stateOf(rounds: InputRounds): RequestState {
  return { ...rounds.state, expiresAt: 0 };
}

Deno.test("InputRounds opens every question that has no answer, by its place", () => {
  const rounds = new InputRounds();
  assert.equal(rounds.ask(new AskedQuestion(METHOD, NAME)), undefined);
  assert.equal(
    rounds.ask(new AskedQuestion("sampling/createMessage", {})),
    undefined,
  );
  assert.equal(
    rounds.ask(new AskedQuestion("roots/list", {}, "mine")),
    undefined,
  );
  assert.deepEqual(JSON.parse(JSON.stringify([...rounds.open])), [
    ["elicitation-1", { method: METHOD, params: NAME }],
    ["sampling-2", { method: "sampling/createMessage", params: {} }],
    ["mine", { method: "roots/list", params: {} }],
  ]);
});

Deno.test("InputRounds answers what the next round brings", () => {
  const first = new InputRounds();
  first.ask(new AskedQuestion(METHOD, NAME));
  const second = new InputRounds(stateOf(first), { "elicitation-1": ADA });
  assert.deepEqual(second.ask(new AskedQuestion(METHOD, NAME)), ADA);
  assert.equal(second.open.size, 0);
});

Deno.test("InputRounds remembers answers over all rounds", () => {
  const first = new InputRounds();
  first.ask(new AskedQuestion(METHOD, NAME));
  const second = new InputRounds(stateOf(first), { "elicitation-1": ADA });
  second.ask(new AskedQuestion(METHOD, NAME));
  second.ask(new AskedQuestion(METHOD, AGE));
  const third = new InputRounds(stateOf(second), { "elicitation-2": ADA });
  assert.deepEqual(third.ask(new AskedQuestion(METHOD, NAME)), ADA);
  assert.deepEqual(third.ask(new AskedQuestion(METHOD, AGE)), ADA);
});

Deno.test("InputRounds asks again for an answer that is missing or no object", () => {
  const first = new InputRounds();
  first.ask(new AskedQuestion(METHOD, NAME));
  for (const responses of [{}, { "elicitation-1": "Ada" }]) {
    const second = new InputRounds(stateOf(first), responses);
    assert.equal(second.ask(new AskedQuestion(METHOD, NAME)), undefined);
    assert.deepEqual([...second.open.keys()], ["elicitation-1"]);
  }
});

Deno.test("InputRounds ignores answers to what was not asked", () => {
  const first = new InputRounds();
  first.ask(new AskedQuestion(METHOD, NAME));
  const keys = ["elicitation-2", "constructor", "__proto__"];
  const responses = Object.fromEntries(keys.map((key) => [key, ADA]));
  const second = new InputRounds(stateOf(first), responses);
  for (const key of keys) {
    assert.equal(second.ask(new AskedQuestion(METHOD, AGE, key)), undefined);
  }
  assert.deepEqual(Object.keys(second.state.answered), []);
});

Deno.test("InputRounds asks again when the question has changed", () => {
  const first = new InputRounds();
  first.ask(new AskedQuestion(METHOD, NAME));
  const second = new InputRounds(stateOf(first), { "elicitation-1": ADA });
  assert.equal(second.ask(new AskedQuestion(METHOD, AGE)), undefined);
  assert.deepEqual(second.state.answered, {});
});

Deno.test("InputRounds takes any answer where there is no state to ask by", () => {
  const rounds = new InputRounds(undefined, { mine: ADA });
  assert.deepEqual(rounds.ask(new AskedQuestion(METHOD, NAME, "mine")), ADA);
  assert.equal(rounds.ask(new AskedQuestion(METHOD, NAME)), undefined);
});

Deno.test("InputRounds carries no answer to what was not asked into the next round", () => {
  const first = new InputRounds();
  first.ask(new AskedQuestion(METHOD, NAME));
  const second = new InputRounds(stateOf(first), { other: ADA });
  assert.deepEqual(second.state.answered, {});
});

const NOW = 1_000_000;
const KEY = new Uint8Array(32).fill(7);
const STATE: RequestState = {
  answered: { a: ["question", { action: "accept" }] },
  asked: { b: "question" },
  nonce: "n",
  expiresAt: NOW + 60,
};
const BINDING: StateBinding = {
  caller: "ada",
  method: "tools/call",
  params: { name: "t", arguments: { x: 1, y: { z: 2 } } },
};

const sealed = await sealRequestState(KEY, STATE, BINDING);

Deno.test("openRequestState() opens what was sealed for the same request", async () => {
  const { boundTo: _, ...state } = await openRequestState(
    KEY,
    sealed,
    BINDING,
    NOW,
  ) as RequestState & { boundTo: string };
  assert.deepEqual(state, STATE);
});

Deno.test("openRequestState() takes another round of the request", async () => {
  const params = {
    _meta: { progressToken: 1 },
    arguments: { y: { z: 2 }, x: 1 },
    inputResponses: { b: {} },
    requestState: sealed,
    name: "t",
  };
  await openRequestState(KEY, sealed, { ...BINDING, params }, NOW);
});

Deno.test("sealRequestState() hides what it seals", () => {
  assert.equal(sealed.split(".").length, 5);
  for (const part of sealed.split(".")) {
    assert.ok(
      !atob(part.replaceAll("-", "+").replaceAll("_", "/"))
        .includes("question"),
    );
  }
});

const FOREIGN: Record<string, Partial<StateBinding>> = {
  "another caller": { caller: "eve" },
  "another method": { method: "prompts/get" },
  "another tool": { params: { ...BINDING.params, name: "u" } },
  "other arguments": {
    params: { ...BINDING.params, arguments: { x: 1, y: { z: 3 } } },
  },
};

const OTHER_REQUEST = /belongs to another request/;
const UNKNOWN = /is not as this server gave it to this caller/;

for (const [what, change] of Object.entries(FOREIGN)) {
  Deno.test(`openRequestState() refuses a state of ${what}, and says so of the caller's own`, async () => {
    const binding = { ...BINDING, ...change };
    await rejects(openRequestState(KEY, sealed, binding, NOW), -32602);
    const message = "caller" in change ? UNKNOWN : OTHER_REQUEST;
    await assert.rejects(openRequestState(KEY, sealed, binding, NOW), {
      message,
    });
    // The holder of another's state learns nothing of it.
    const late = openRequestState(KEY, sealed, binding, NOW + 60);
    await assert.rejects(late, { message });
  });
}

Deno.test("openRequestState() refuses a state that has lapsed", async () => {
  await openRequestState(KEY, sealed, BINDING, NOW + 59);
  const late = openRequestState(KEY, sealed, BINDING, NOW + 60);
  await assert.rejects(late, { code: -32602, message: /has expired/ });
});

Deno.test("openRequestState() refuses every tampered part", async () => {
  const parts = sealed.split(".");
  for (const at of [0, 2, 3, 4]) {
    const changed = parts.with(at, flip(parts[at])).join(".");
    const opening = openRequestState(KEY, changed, BINDING, NOW);
    await assert.rejects(opening, { code: -32602, message: UNKNOWN });
  }
});

Deno.test("openRequestState() refuses a state sealed with another key", async () => {
  const other = new Uint8Array(32).fill(8);
  const forged = await sealRequestState(other, STATE, BINDING);
  await rejects(openRequestState(KEY, forged, BINDING, NOW), -32602);
});

Deno.test("openRequestState() refuses what is no state", async () => {
  const plain = new TextEncoder().encode(JSON.stringify(STATE));
  const signed = await new CompactSign(plain)
    .setProtectedHeader({ alg: "HS256" })
    .sign(KEY);
  const otherwise = await new CompactEncrypt(plain)
    .setProtectedHeader({ alg: "A256KW", enc: "A256GCM" })
    .encrypt(KEY);
  for (const text of ["", "x", "a.b.c.d.e", signed, otherwise, null, 1, {}]) {
    await rejects(openRequestState(KEY, text, BINDING, NOW), -32602);
  }
});

/** Changes a character in the middle, where there are no padding bits. */
function flip(text: string): string {
  const at = text.length >> 1;
  const other = text[at] === "A" ? "B" : "A";
  return text.slice(0, at) + other + text.slice(at + 1);
}

Deno.test("openRequestState() says what it wants of what is no text", async () => {
  await assert.rejects(openRequestState(KEY, { a: 1 }, BINDING, NOW), {
    message:
      "requestState must be a string, not an object. Send the request without it to begin again",
  });
});
