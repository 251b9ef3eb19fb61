import assert from "node:assert/strict";
import { HttpError } from "../../../src/core/errors.ts";
import {
  BODY_BYTES,
  checkAccept,
  checkBodyLimits,
  checkContentType,
  MAX_BODY_DEPTH,
  MAX_BODY_VALUES,
  readBody,
  SLICE_BYTES,
} from "../../../src/core/protocol/messages.ts";
import { refuses, rejects } from "../../kit/refuses.ts";

function isStatus(status: number) {
  return (error: unknown) =>
    error instanceof HttpError && error.status === status;
}

Deno.test("checkContentType() takes JSON with any parameters", () => {
  for (
    const type of [
      "application/json",
      "application/json; charset=utf-8",
      "application/json;charset=UTF-8",
      "Application/JSON",
    ]
  ) checkContentType(new Headers({ "content-type": type }));
});

Deno.test("checkContentType() refuses anything else with 415", () => {
  for (
    const type of [
      "text/plain",
      "application/jsonl",
      "application/json-rpc",
      "text/plain; application/json",
      "",
    ]
  ) {
    const headers = new Headers({ "content-type": type });
    assert.throws(() => checkContentType(headers), isStatus(415), type);
  }
  assert.throws(() => checkContentType(new Headers()), isStatus(415));
});

Deno.test("checkAccept() takes both types, wildcards, or no word on it", () => {
  for (
    const accept of [
      "application/json, text/event-stream",
      "text/event-stream;q=0.5, application/json",
      "*/*",
      "application/*, text/*",
      "text/html, */*;q=0.1",
      "*/*;q=0, application/json, text/event-stream",
      "application/*;q=0, application/json;q=0.001, text/event-stream",
      "APPLICATION/JSON ; Q=1.000 , Text/*",
    ]
  ) checkAccept(new Headers({ accept }));
  checkAccept(new Headers());
});

Deno.test("checkAccept() refuses anything less with 406", () => {
  for (
    const accept of [
      "application/json",
      "text/event-stream",
      "text/html",
      "application/jsonl, text/event-stream",
      "application/json, text/event-streams",
      "application/json;q=0, text/event-stream",
      "application/json, text/event-stream; q=0.000",
      "application/json;q=0, */*",
      "text/event-stream, application/*; Q=0",
      "*/*;q=0",
      "*/*;q=0., application/json",
      "",
    ]
  ) {
    const headers = new Headers({ accept });
    assert.throws(() => checkAccept(headers), isStatus(406), accept);
  }
});

function request(body: BodyInit, headers?: HeadersInit): Request {
  return new Request("http://localhost/mcp", { method: "POST", body, headers });
}

/** Makes a body without an announced length. */
function stream(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      const chunk = new Uint8Array(Math.min(left, 65_536)).fill(0x20);
      left -= chunk.length;
      if (chunk.length > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
}

Deno.test("readBody() reads JSON in UTF-8, with or without a length", async () => {
  const body = '{"a":"é"}';
  assert.deepEqual((await readBody(request(body))).value, { a: "é" });
  const length = `${new TextEncoder().encode(body).length}`;
  assert.deepEqual(
    (await readBody(request(body, { "content-length": length }))).value,
    { a: "é" },
  );
});

Deno.test("readBody() refuses what is not JSON", async () => {
  for (const body of ["", "{", "{'a':1}", "NaN"]) {
    await rejects(readBody(request(body)), -32700, 400);
    const length = { "content-length": `${body.length}` };
    await rejects(readBody(request(body, length)), -32700, 400);
  }
});

Deno.test("readBody() believes no length next to Transfer-Encoding", async () => {
  const deep = "[".repeat(MAX_BODY_DEPTH + 1) + "]".repeat(MAX_BODY_DEPTH + 1);
  const chunked = { "content-length": "9", "transfer-encoding": "chunked" };
  await rejects(readBody(request(deep, chunked)), -32600, 400);
  const exact = { "content-length": `${2 * MAX_BODY_DEPTH}` };
  await rejects(readBody(request(deep.slice(0, -2), exact)), -32600, 400);
});

Deno.test("readBody() refuses what is not UTF-8, and reads U+FFFD in a short body", async () => {
  // Latin-1, and a character of four bytes that is cut after three.
  for (const bytes of [[0xe9], [0xf0, 0x9f, 0x98]]) {
    const body = new Uint8Array([0x22, ...bytes, 0x22]);
    await rejects(readBody(request(body)), -32700, 400);
    const long = new Uint8Array(2 * MAX_BODY_DEPTH).fill(0x20);
    long.set(body);
    const length = { "content-length": `${long.length}` };
    await rejects(readBody(request(long, length)), -32700, 400);
    const short = { "content-length": `${body.length}` };
    assert.equal((await readBody(request(body, short))).value, "\uFFFD");
  }
});

Deno.test("readBody() takes U+FFFD itself", async () => {
  assert.equal((await readBody(request('"a\uFFFD"'))).value, "a\uFFFD");
});

Deno.test("readBody() refuses an announced length over the limit, unread", async () => {
  const headers = { "content-length": `${BODY_BYTES + 1}` };
  await assert.rejects(readBody(request("{}", headers)), isStatus(413));
});

Deno.test("readBody() stops reading a body over the limit", async () => {
  await assert.rejects(
    readBody(request(stream(BODY_BYTES + 1))),
    isStatus(413),
  );
});

Deno.test("readBody() refuses a body that ends early", async () => {
  for (const headers of [undefined, { "content-length": "9" }]) {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error("gone")),
    });
    const isEarly = isStatus(400);
    await assert.rejects(readBody(request(body, headers)), isEarly);
  }
});

Deno.test("readBody() takes as many bytes as there may be, announced or not", async () => {
  const body = `"${"x".repeat(BODY_BYTES - 2)}"`;
  const announced = { "content-length": String(BODY_BYTES) };
  for (const headers of [new Headers(), new Headers(announced)]) {
    const init = { method: "POST", headers, body };
    const { value } = await readBody(new Request("http://localhost", init));
    assert.equal((value as string).length, BODY_BYTES - 2);
  }
});

Deno.test("readBody() tells the memory of a long body, by its bytes and its values", async () => {
  const bytesOf = async (body: string) =>
    (await readBody(request(body))).longBytes;
  assert.equal(await bytesOf(JSON.stringify("x".repeat(4000))), 0);
  assert.equal(await bytesOf(JSON.stringify("x".repeat(5000))), 5002);
  const many = await bytesOf(JSON.stringify(Array(1000).fill({})));
  assert(many > 64_000, `${many}`);
});

Deno.test("readBody() counts what a body holds before it is built", async () => {
  const body = "[".repeat(1000) + "]".repeat(1000);
  const request = new Request("http://localhost", { method: "POST", body });
  await rejects(readBody(request), -32600, 400);
});

Deno.test("readBody() lets others go first again and again while it works on a large body", async () => {
  let turns = 0;
  const body = request(`"${" ".repeat(BODY_BYTES - 2)}"`);
  const others = setInterval(() => turns++, 0);
  await readBody(body);
  clearInterval(others);
  assert(turns >= 8, `${turns} turns`);
});

Deno.test("what HTTP refuses tells the client, and no one else, what it sent", () => {
  const type = "text/plain";
  for (
    const [check, headers] of [
      [checkContentType, { "content-type": type }],
      [checkAccept, { accept: type }],
    ] as const
  ) {
    assert.throws(
      () => check(new Headers(headers)),
      ({ message, seen }: HttpError) =>
        seen === type && !message.includes(type),
    );
  }
});

/** Counts to the end, and gives the number of pauses. */
function check(text: string): number {
  return [...checkBodyLimits(new TextEncoder().encode(text))].length;
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

/** Makes an array that counts as `count` values: itself and its items. */
function listOf(count: number, item: string): string {
  return `[${Array(count).fill(item).join()}]`;
}

Deno.test("checkBodyLimits() takes what is as deep as may be, and nothing deeper", () => {
  check(nested(MAX_BODY_DEPTH));
  refuses(() => check(nested(MAX_BODY_DEPTH + 1)), -32600, 400);
  refuses(() => check('{"a":'.repeat(MAX_BODY_DEPTH + 1)), -32600, 400);
  refuses(() => check("[".repeat(4_000_000)), -32600, 400);
});

Deno.test("checkBodyLimits() counts items, members and containers", () => {
  check(listOf(MAX_BODY_VALUES, "1"));
  refuses(() => check(listOf(MAX_BODY_VALUES + 1, "1")), -32600, 400);
  check(listOf(MAX_BODY_VALUES / 2, "[]"));
  refuses(() => check(listOf(MAX_BODY_VALUES / 2 + 1, "{}")), -32600, 400);
  const members = Array.from(
    { length: MAX_BODY_VALUES + 1 },
    (_, n) => `"${n}":1`,
  );
  refuses(() => check(`{${members.join()}}`), -32600, 400);
});

Deno.test("checkBodyLimits() counts nothing inside of strings", () => {
  const marks = "[{,".repeat(MAX_BODY_VALUES);
  for (const text of [marks, `${marks}\\"${marks}`, `${marks}\\\\`]) {
    check(`{"a":"${text}"}`);
  }
  // A quote after two backslashes ends its string.
  refuses(() => check(`["\\\\",${nested(MAX_BODY_DEPTH + 1)}]`), -32600, 400);
});

Deno.test("checkBodyLimits() stops at a string without an end", () => {
  assert.doesNotThrow(() => check('"'.padEnd(1_000_000, "[")));
});

Deno.test("checkBodyLimits() pauses after every slice, and what goes across one is one thing", () => {
  assert.equal(check(" ".repeat(SLICE_BYTES)), 0);
  assert.equal(check(" ".repeat(4 * SLICE_BYTES)), 3);
  const marks = "[".repeat(MAX_BODY_DEPTH + 1);
  // A string, an escape and a nesting that begin before the end of a slice.
  check(`"${marks}`.padStart(SLICE_BYTES + 10));
  check(`"\\"${marks}"`.padStart(SLICE_BYTES + MAX_BODY_DEPTH + 3));
  refuses(() => check(marks.padStart(SLICE_BYTES + 10)), -32600, 400);
});

Deno.test("checkBodyLimits() counts the shortest body that can be too deep, and every kind of end", () => {
  refuses(() => check("[".repeat(2 * MAX_BODY_DEPTH)), -32600, 400);
  check(listOf(MAX_BODY_DEPTH + 1, "{}"));
  check(listOf(MAX_BODY_DEPTH + 1, "[]"));
});
