import assert from "node:assert/strict";
import { Inquiry } from "../../../src/mcp/wire/inquiry.ts";
import type { RequestState } from "../../../src/mcp/wire/request_state.ts";

const METHOD = "elicitation/create";
const NAME = { message: "Your name?" };
const AGE = { message: "Your age?" };
const ADA = { action: "accept", content: { name: "Ada" } };

/** Makes the state for the next round. */
function stateOf(inquiry: Inquiry): RequestState {
  return { ...inquiry.state, expiresAt: 0 };
}

Deno.test("Inquiry opens every question that has no answer, by its place", () => {
  const inquiry = new Inquiry();
  assert.equal(inquiry.ask(METHOD, NAME), undefined);
  assert.equal(inquiry.ask("sampling/createMessage", {}), undefined);
  assert.equal(inquiry.ask("roots/list", {}, "mine"), undefined);
  assert.deepEqual([...inquiry.open], [
    ["elicitation-1", { method: METHOD, params: NAME }],
    ["sampling-2", { method: "sampling/createMessage", params: {} }],
    ["mine", { method: "roots/list", params: {} }],
  ]);
});

Deno.test("Inquiry answers what the next round brings", () => {
  const first = new Inquiry();
  first.ask(METHOD, NAME);
  const second = new Inquiry(stateOf(first), { "elicitation-1": ADA });
  assert.deepEqual(second.ask(METHOD, NAME), ADA);
  assert.equal(second.open.size, 0);
});

Deno.test("Inquiry remembers answers over all rounds", () => {
  const first = new Inquiry();
  first.ask(METHOD, NAME);
  const second = new Inquiry(stateOf(first), { "elicitation-1": ADA });
  second.ask(METHOD, NAME);
  second.ask(METHOD, AGE);
  const third = new Inquiry(stateOf(second), { "elicitation-2": ADA });
  assert.deepEqual(third.ask(METHOD, NAME), ADA);
  assert.deepEqual(third.ask(METHOD, AGE), ADA);
});

Deno.test("Inquiry asks again for an answer that is missing or no object", () => {
  const first = new Inquiry();
  first.ask(METHOD, NAME);
  for (const responses of [{}, { "elicitation-1": "Ada" }]) {
    const second = new Inquiry(stateOf(first), responses);
    assert.equal(second.ask(METHOD, NAME), undefined);
    assert.deepEqual([...second.open.keys()], ["elicitation-1"]);
  }
});

Deno.test("Inquiry ignores answers to what was not asked", () => {
  const first = new Inquiry();
  first.ask(METHOD, NAME);
  const keys = ["elicitation-2", "constructor", "__proto__"];
  const responses = Object.fromEntries(keys.map((key) => [key, ADA]));
  const second = new Inquiry(stateOf(first), responses);
  for (const key of keys) {
    assert.equal(second.ask(METHOD, AGE, key), undefined);
  }
  assert.deepEqual(Object.keys(second.state.answered), []);
});

Deno.test("Inquiry asks again when the question has changed", () => {
  const first = new Inquiry();
  first.ask(METHOD, NAME);
  const second = new Inquiry(stateOf(first), { "elicitation-1": ADA });
  assert.equal(second.ask(METHOD, AGE), undefined);
  assert.deepEqual(second.state.answered, {});
});

Deno.test("Inquiry takes any answer where there is no state to ask by", () => {
  const inquiry = new Inquiry(undefined, { mine: ADA });
  assert.deepEqual(inquiry.ask(METHOD, NAME, "mine"), ADA);
  assert.equal(inquiry.ask(METHOD, NAME), undefined);
});

Deno.test("Inquiry carries no answer to what was not asked into the next round", () => {
  const first = new Inquiry();
  first.ask(METHOD, NAME);
  const second = new Inquiry(stateOf(first), { other: ADA });
  assert.deepEqual(second.state.answered, {});
});
