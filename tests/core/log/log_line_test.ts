import assert from "node:assert/strict";
import { jsonLine, terminalLine } from "../../../src/core/log/log_line.ts";
import { type LogEvent, logFailure } from "../../../src/core/log/log.ts";
import { recordLog } from "../../kit/log.ts";

const EVENT: LogEvent = {
  timestamp: 0,
  level: "info",
  category: "mcp",
  message: "Request",
  properties: {},
};

function withoutFrames(message: string, cause: Error): Error {
  return Object.assign(new Error(message, { cause }), { stack: "" });
}

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
    properties: {
      client: 'App outcome=ok "',
      error: withoutFrames('a subject=admin "', new Error("b outcome=ok")),
      outcome: "404",
      tool: undefined,
    },
  });
  assert.equal(
    line,
    '00:00:00.000 WARNING Request client="App outcome=ok \\"" ' +
      'error="Error: a subject=admin \\", caused by Error: b outcome=ok" ' +
      "outcome=404",
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
          changed: Object.assign(new Error("Changed"), {
            stack: `Error: first\n    at it${forgery}`,
          }),
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

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function throwing(): never {
  throw new Error("not this one");
}

/** An error some of whose members are something else. */
function errorWith(members: Record<string, PropertyDescriptor>): Error {
  return Object.defineProperties(new Error("reason"), members);
}

const circle: Record<string, unknown> = { why: "reason" };
circle.self = circle;

/** By name: what may be thrown, and what a log must still say of it. */
const THROWN: Record<string, [thrown: unknown, says: RegExp]> = {
  "an object without a prototype": [
    Object.assign(Object.create(null), { why: "reason" }),
    /reason/,
  ],
  "the groups of a match": [/(?<why>r.*)/.exec("reason")!.groups, /reason/],
  "an object that is in itself": [circle, /reason/],
  "a getter that throws beside the reason": [
    Object.defineProperty({ why: "reason" }, "other", {
      enumerable: true,
      get: throwing,
    }),
    /reason/,
  ],
  "a toJSON() that throws": [{ toJSON: throwing, why: "reason" }, /reason/],
  "a toString() that throws": [{ toString: throwing, why: "reason" }, /reason/],
  "an object with words only": [
    Object.create({ toString: () => "reason" }),
    /reason/,
  ],
  "a class whose name throws": [
    errorWith({ name: { get: throwing } }),
    /reason/,
  ],
  "a message that throws": [
    errorWith({ message: { get: throwing }, cause: { value: "reason" } }),
    /reason/,
  ],
  "a message that is no text": [
    errorWith({ message: { value: { why: "reason" } } }),
    /reason/,
  ],
  "causes that throw": [
    errorWith({ cause: { get: throwing }, errors: { get: throwing } }),
    /reason/,
  ],
  "a stack that throws": [errorWith({ stack: { get: throwing } }), /reason/],
  "a stack that is no text": [errorWith({ stack: { value: 1 } }), /reason/],
  "a message that was changed": [
    Object.assign(new Error("first"), { message: "reason" }),
    /reason/,
  ],
  "causes of every kind": [
    new Error("outer", {
      cause: new AggregateError([{ inner: new Error("reason") }], "several"),
    }),
    /several.*reason/s,
  ],
  "what a disposal suppressed": [
    new SuppressedError(new Error("disposal"), new Error("reason")),
    /disposal.*reason/s,
  ],
  "text": ["reason", /reason/],
  "a symbol": [Symbol("reason"), /Symbol\(reason\)/],
  "a BigInt": [12n, /12/],
  "a BigInt in an object": [{ big: 12n }, /12/],
  "a function": [() => "reason", /reason/],
  "undefined": [undefined, /Request/],
  "null": [null, /null/],
  "a revoked proxy": [revoked(), /Request/],
  "a proxy that answers nothing": [
    new Proxy({}, {
      ownKeys: throwing,
      get: throwing,
      getPrototypeOf: throwing,
    }),
    /Request/,
  ],
  "far too much text": ["reason ".repeat(1e6), /reason.*more characters/s],
  "far too many members": [
    { ...Array.from({ length: 1e5 }, () => "reason") },
    /reason.*more/s,
  ],
  "a message that is far too long": [
    new Error("reason ".repeat(1e6)),
    /reason.*more characters/s,
  ],
};

for (const [what, [thrown, says]] of Object.entries(THROWN)) {
  Deno.test(`a log tells of ${what} without throwing, in bounds`, () => {
    const uses = { thrown, cause: new Error("outer", { cause: thrown }) };
    for (const error of Object.values(uses)) {
      for (const print of Object.values(PRINTERS)) {
        const line = print({ ...EVENT, properties: { error } });
        assert.match(line, says);
        assert(line.length < 200_000, `${line.length} characters`);
        if (print === jsonLine) JSON.parse(line);
      }
      const { logger, events } = recordLog();
      logFailure(logger, error, {});
      assert.equal(events.length, 1);
    }
  });
}
