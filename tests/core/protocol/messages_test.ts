import assert from "node:assert/strict";
import {
  argumentsOf,
  codeOfStatus,
  isRequestId,
  methodNotFound,
  parseMessage,
  printError,
  printNotification,
  printResult,
  quoted,
  salvageId,
  shortened,
} from "../../../src/core/protocol/messages.ts";
import { refuses } from "../../kit/refuses.ts";

const jsonrpc = "2.0";

Deno.test("parseMessage() reads a request", () => {
  assert.deepEqual(
    parseMessage({ jsonrpc, id: "a", method: "ping", params: { x: 1 } }),
    { kind: "request", id: "a", method: "ping", params: { x: 1 } },
  );
});

Deno.test("parseMessage() takes any _meta with a progress token or none", () => {
  for (
    const _meta of [{}, { progressToken: 0 }, { progressToken: "a", b: 1 }]
  ) {
    const message = { jsonrpc, id: 1, method: "ping", params: { _meta } };
    assert.equal(parseMessage(message).kind, "request");
  }
});

Deno.test("parseMessage() gives a message without params empty ones", () => {
  assert.deepEqual(parseMessage({ jsonrpc, id: 0, method: "ping" }), {
    kind: "request",
    id: 0,
    method: "ping",
    params: {},
  });
});

Deno.test("parseMessage() reads a message without id as a notification", () => {
  assert.deepEqual(parseMessage({ jsonrpc, method: "n", params: {} }), {
    kind: "notification",
    method: "n",
    params: {},
  });
});

Deno.test("parseMessage() reads results and errors as responses", () => {
  assert.deepEqual(parseMessage({ jsonrpc, id: 1, result: { a: 1 } }), {
    kind: "response",
    id: 1,
    result: { a: 1 },
  });
  const error = { code: -1, message: "no", data: [] };
  assert.deepEqual(parseMessage({ jsonrpc, id: 1, error }), {
    kind: "response",
    id: 1,
    error,
  });
});

const PING = { jsonrpc, id: 1, method: "ping" };
const ERROR = { code: 1, message: "" };

const BROKEN: Record<string, unknown> = {
  "null": null,
  "a number": 1,
  "an array": [],
  "no version": { id: 1, method: "ping" },
  "another version": { ...PING, jsonrpc: "1.0" },
  "a method that is no string": { ...PING, method: 1 },
  "a null method": { ...PING, method: null },
  "params as a list": { ...PING, params: [] },
  "null params": { ...PING, params: null },
  "a _meta that is no object": { ...PING, params: { _meta: [] } },
  "a fractional progress token": {
    ...PING,
    params: { _meta: { progressToken: 1.5 } },
  },
  "a question that is an answer": { ...PING, result: null },
  "a question that is an error": { ...PING, error: ERROR },
  "a null id": { ...PING, id: null },
  "a fractional id": { ...PING, id: 1.5 },
  "an id beyond the safe integers": { ...PING, id: 2 ** 53 },
  "an object as id": { ...PING, id: {} },
  "neither method nor id": { jsonrpc },
  "a response to no id": { jsonrpc, id: null, result: {} },
  "a response with neither result nor error": { jsonrpc, id: 1 },
  "a response with both": { jsonrpc, id: 1, result: {}, error: ERROR },
  "a result that is no object": { jsonrpc, id: 1, result: 1 },
  "an error without a code": { jsonrpc, id: 1, error: { message: "" } },
  "an error with a fractional code": {
    jsonrpc,
    id: 1,
    error: { ...ERROR, code: 1.5 },
  },
  "an error without a message": { jsonrpc, id: 1, error: { code: 1 } },
};

for (const [what, message] of Object.entries(BROKEN)) {
  Deno.test(`parseMessage() refuses ${what}`, () => {
    refuses(() => parseMessage(message), -32600, 400);
  });
}

Deno.test("ids, progress tokens and methods have a longest length", () => {
  const longest = "a".repeat(1024);
  assert.ok(isRequestId(longest));
  const method = "a".repeat(256);
  assert.equal(parseMessage({ ...PING, method }).kind, "request");
  for (
    const broken of [
      { ...PING, id: `${longest}a` },
      { ...PING, params: { _meta: { progressToken: `${longest}a` } } },
      { ...PING, method: `${method}a` },
    ]
  ) refuses(() => parseMessage(broken), -32600, 400);
  assert.equal(salvageId({ id: `${longest}a` }), undefined);
});

Deno.test("quoted() puts a text in quotes, cut, every character visible", () => {
  assert.equal(quoted("short"), '"short"');
  assert.equal(quoted("a".repeat(5000)).length, 102);
  assert.ok(quoted("\u{1F600}".repeat(5000)).isWellFormed());
  assert.equal(quoted("a\u202e\x9b\n"), '"a\\u202e\\u009b\\n"');
});

Deno.test("quoted() tells only the kind of what has members, and prints the rest", () => {
  const unread = {
    toJSON(): never {
      throw new Error("It was printed");
    },
  };
  const told = [unread, [unread], undefined, null, 1.5, false].map(quoted);
  assert.equal(told.join(), "an object,an array,nothing,null,1.5,false");
});

Deno.test("isRequestId() takes strings and integers, and never null", () => {
  for (const id of ["", "1", 0, -1]) assert.ok(isRequestId(id));
  for (const id of [null, undefined, 0.5, NaN, true, [], {}]) {
    assert.ok(!isRequestId(id));
  }
});

Deno.test("salvageId() finds the id of a broken message, where it has one", () => {
  assert.equal(salvageId({ id: "a", method: 1 }), "a");
  assert.equal(salvageId({ id: null }), undefined);
  for (const value of [null, 1, "x", [{ id: 1 }], undefined]) {
    assert.equal(salvageId(value), undefined);
  }
});

Deno.test('printResult() keeps the IDs 1 and "1" apart', () => {
  for (const id of [1, "1", '"\n']) {
    assert.equal(JSON.parse(printResult(id, "{}")).id, id);
  }
});

Deno.test("printResult(), printError() and printNotification() print JSON-RPC 2.0", () => {
  assert.deepEqual(JSON.parse(printResult("a", '{"x":1}')), {
    jsonrpc,
    id: "a",
    result: { x: 1 },
  });
  assert.deepEqual(JSON.parse(printError(1, { code: -1, message: "no" })), {
    jsonrpc,
    id: 1,
    error: { code: -1, message: "no" },
  });
  assert.deepEqual(
    JSON.parse(printError(undefined, { code: -1, message: "no", data: 1 })),
    { jsonrpc, error: { code: -1, message: "no", data: 1 } },
  );
  assert.deepEqual(JSON.parse(printNotification("n", { a: 1 })), {
    jsonrpc,
    method: "n",
    params: { a: 1 },
  });
});

Deno.test("codeOfStatus() says -32000 to 2025, and what is whose fault to 2026", () => {
  assert.equal(codeOfStatus(401, false), -32000);
  assert.equal(codeOfStatus(503, false), -32000);
  assert.equal(codeOfStatus(499, true), -32600);
  assert.equal(codeOfStatus(500, true), -32603);
});

Deno.test("shortened() cuts what is longer, and nothing else", () => {
  assert.equal(shortened("abc", 3), "abc");
  assert.equal(shortened("abcd", 3), "ab…");
});

Deno.test("methodNotFound() is in band in 2025, and 404 in 2026", () => {
  const refusalOf = (stateless: boolean) => {
    const { code, status, message } = methodNotFound(
      `\x1b${"x".repeat(255)}`,
      stateless,
    );
    assert.match(message, /^Method not found: "\\u001bx{98}…"$/);
    return [code, status];
  };
  assert.deepEqual(refusalOf(false), [-32601, 200]);
  assert.deepEqual(refusalOf(true), [-32601, 404]);
});

Deno.test("argumentsOf() takes an object, and none for null or nothing", () => {
  assert.deepEqual(argumentsOf({ arguments: { a: 1 } }), { a: 1 });
  assert.deepEqual(argumentsOf({ arguments: null }), {});
  assert.deepEqual(argumentsOf({}), {});
});

Deno.test("argumentsOf() refuses what is no object", () => {
  for (const args of [[], "a", 1, false]) {
    refuses(() => argumentsOf({ arguments: args }), -32602);
  }
});
