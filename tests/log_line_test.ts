import assert from "node:assert/strict";
import { jsonLine, terminalLine } from "../src/log_line.ts";
import type { LogEvent } from "../src/log.ts";

const EVENT: LogEvent = {
  timestamp: 0,
  level: "info",
  category: "mcp",
  message: "Request",
  properties: {},
};

/** The ways to write an event as text, by name. */
const PRINTERS = { jsonLine, terminalLine };

Deno.test("jsonLine() writes an event as one line of JSON", () => {
  const properties = { method: "tools/call", outcome: "ok\n" };
  const line = jsonLine({ ...EVENT, properties });
  assert(!line.includes("\n"));
  assert.deepEqual(JSON.parse(line), {
    "@timestamp": "1970-01-01T00:00:00.000Z",
    level: "INFO",
    logger: "tool-server.mcp",
    message: "Request",
    ...properties,
  });
});

Deno.test("terminalLine() writes readable words, and each value with its bounds", () => {
  const line = terminalLine({
    ...EVENT,
    level: "warning",
    properties: { client: 'App outcome=ok "', outcome: "404", tool: undefined },
  });
  assert.equal(
    line,
    '00:00:00.000 WARNING Request client="App outcome=ok \\"" outcome=404',
  );
});

/** Texts that strangers write into names and paths. */
const FORGERIES = [
  "\n12:00:00.000 INFO    Signed in subject=admin",
  "\r\x1b[2K\x1b[1A12:00:00.000 ERROR",
  "\x9b31m\x07\x08\x7f\0",
  "\u2028next\u2029next\x85next",
  "\u202etxt.exe\u2066\u200f\ufeff\u{e0041}",
  "\ud800 half",
];

for (const [name, print] of Object.entries(PRINTERS)) {
  Deno.test(`${name}() lets no value forge a line or control a terminal`, () => {
    for (const forgery of FORGERIES) {
      const text = print({
        ...EVENT,
        message: `Request ${forgery}`,
        properties: {
          path: forgery,
          error: new Error(forgery, { cause: new Error(forgery) }),
          list: [forgery],
        },
      });
      const [first, ...frames] = text.split("\n");
      // The frames of a stack follow below, each indented.
      for (const frame of frames) assert.match(frame, /^ {4}at /);
      assert.doesNotMatch(first, /\p{C}|\p{Zl}|\p{Zp}/u);
      if (print === jsonLine) assert.equal(JSON.parse(first).path, forgery);
    }
  });

  Deno.test(`${name}() tells where an error came from, and its causes`, () => {
    const cause = new TypeError("locked");
    cause.cause = cause;
    const error = new RangeError("far", { cause });
    const text = print({ ...EVENT, properties: { error } });
    assert.match(text, /RangeError: far/);
    assert.match(text, /log_line_test\.ts/);
    assert.match(text, /[Cc]aused by:? TypeError: locked/);
  });
}

Deno.test("jsonLine() prints every kind of value, and leaves out what is undefined", () => {
  const properties = {
    text: 'a "quoted" \\ and é',
    hostile: "a\nb\u202e",
    number: 1.5,
    none: null,
    no: false,
    infinite: Infinity,
    big: 12n,
    undefined,
    symbol: Symbol("s"),
    object: { list: [1, "\u2028"], inner: { a: true } },
    silent: { toJSON: () => undefined },
  };
  const line = jsonLine({
    timestamp: 0,
    level: "warning",
    category: "main",
    message: 'Said "so"',
    properties,
  });
  assert.match(line, /^[\x20-\x7e\xe9]+$/);
  assert.deepEqual(JSON.parse(line), {
    "@timestamp": "1970-01-01T00:00:00.000Z",
    level: "WARNING",
    logger: "tool-server.main",
    message: 'Said "so"',
    text: properties.text,
    hostile: properties.hostile,
    number: 1.5,
    none: null,
    no: false,
    infinite: null,
    big: "12",
    symbol: "Symbol(s)",
    object: properties.object,
    silent: null,
  });
});

Deno.test("times are right to the millisecond", () => {
  for (
    const time of [0, 1, 10, 999, 1000, 1_800_000_000_042, 1_800_000_000_999]
  ) {
    const line = jsonLine({
      timestamp: time,
      level: "info",
      category: "main",
      message: "Request",
      properties: {},
    });
    assert.equal(Date.parse(JSON.parse(line)["@timestamp"]), time);
  }
});
