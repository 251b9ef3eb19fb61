import assert from "node:assert/strict";
import { configureLog, flushLog, logger, type LogLevel } from "../src/log.ts";
import { jsonLine } from "../src/log_line.ts";

const METHODS = ["debug", "info", "log", "warn", "error"] as const;

/** What reaches the console while `speak` runs. */
function lines(
  options: { level: LogLevel; terminal?: boolean; captured?: boolean },
  speak: () => void,
): string[] {
  return calls(options, speak).map(({ text }) => text);
}

/** The console calls themselves. */
function calls(
  options: { level: LogLevel; terminal?: boolean; captured?: boolean },
  speak: () => void,
): { method: string; text: string }[] {
  const real = METHODS.map((method) => console[method]);
  const written: { method: string; text: string }[] = [];
  for (const method of METHODS) {
    console[method] = (...parts: unknown[]) => {
      written.push({ method, text: parts.join(" ") });
    };
  }
  try {
    configureLog(options);
    speak();
    flushLog();
  } finally {
    METHODS.forEach((method, index) => console[method] = real[index]);
    configureLog({ level: "off" });
  }
  return written;
}

Deno.test("configureLog() writes an event as one line of JSON", () => {
  const [line, ...others] = lines(
    { level: "info", terminal: false },
    () => {
      logger("mcp").info("Request", { method: "tools/call", outcome: "ok\n" });
    },
  );
  assert.deepEqual(others, []);
  assert(!line.trimEnd().includes("\n"));
  const { "@timestamp": timestamp, ...event } = JSON.parse(line);
  assert(!Number.isNaN(Date.parse(timestamp)));
  assert.deepEqual(event, {
    level: "INFO",
    logger: "tool-server.mcp",
    message: "Request",
    method: "tools/call",
    outcome: "ok\n",
  });
});

Deno.test("configureLog() writes readable words on a terminal", () => {
  const [line] = lines({ level: "info", terminal: true }, () => {
    logger("mcp").warning("Refused", { outcome: "404", tool: undefined });
  });
  assert.match(line, /^\d\d:\d\d:\d\d\S* WARNING Refused outcome=404\s*$/i);
});

Deno.test("configureLog() tells where an error came from", () => {
  for (const terminal of [true, false]) {
    const [line] = lines({ level: "info", terminal }, () => {
      logger("mcp").error("Internal error", { error: new RangeError("far") });
    });
    assert.match(line, /RangeError: far/);
    assert.match(line, /log_test\.ts/);
  }
});

Deno.test("configureLog() leaves out what is below its level", () => {
  const speak = () => {
    const log = logger("mcp");
    log.debug("one");
    log.info("two");
    log.warning("three");
    log.error("four");
  };
  const counts: number[] = [];
  for (const level of ["debug", "info", "warning", "error", "off"] as const) {
    const written = lines({ level, terminal: false }, speak);
    counts.push(written.flatMap((chunk) => chunk.split("\n")).length);
  }
  assert.deepEqual(counts, [4, 3, 2, 1, 0]);
});

Deno.test("configureLog() writes what waited before a warning, and with it", () => {
  const written = lines({ level: "info", terminal: false }, () => {
    const log = logger("mcp");
    log.info("one");
    log.info("two");
    log.warning("three");
    log.info("four");
  });
  const messages = written.map((chunk) =>
    chunk.split("\n").map((line) => JSON.parse(line).message)
  );
  assert.deepEqual(messages, [["one", "two", "three"], ["four"]]);
});

Deno.test("configureLog() makes one call of the right level for each event where calls are captured", () => {
  const made = calls({ level: "debug", captured: true }, () => {
    const log = logger("mcp");
    log.debug("one");
    log.info("two");
    log.warning("three");
    log.error("four");
  });
  assert.deepEqual(
    made.map(({ method, text }) => [method, JSON.parse(text).message]),
    [["debug", "one"], ["info", "two"], ["warn", "three"], ["error", "four"]],
  );
});

/** What strangers write into names and paths. */
const FORGERIES = [
  "\n12:00:00.000 INFO    Signed in subject=admin",
  "\r\x1b[2K\x1b[1A12:00:00.000 ERROR",
  "\x9b31m\x07\x08\x7f\0",
  "\u2028next\u2029next\x85next",
  "\u202etxt.exe\u2066\u200f\ufeff\u{e0041}",
  "\ud800 half",
];

Deno.test("no value forges a line or controls a terminal", () => {
  for (const forgery of FORGERIES) {
    for (const terminal of [true, false]) {
      const [line, ...others] = lines({ level: "info", terminal }, () => {
        logger("http").info(`Request ${forgery}`, {
          path: forgery,
          error: new Error(forgery, { cause: new Error(forgery) }),
          list: [forgery],
        });
      });
      assert.deepEqual(others, []);
      const [first, ...frames] = line.split("\n");
      // A stack's frames stand below, each indented.
      for (const frame of frames) assert.match(frame, /^ {4}at /);
      assert.doesNotMatch(first, /\p{C}|\p{Zl}|\p{Zp}/u);
      if (!terminal) assert.equal(JSON.parse(first).path, forgery);
    }
  }
});

Deno.test("no value looks like another field on a terminal", () => {
  const [line] = lines({ level: "info", terminal: true }, () => {
    logger("http").info("Request", {
      client: 'App outcome=ok "',
      outcome: "no",
    });
  });
  assert.match(line, /client="App outcome=ok \\"" outcome=no$/);
});

Deno.test("an error tells its causes, and a value that cannot be printed does not hurt", () => {
  const cause = new TypeError("locked");
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  cause.cause = cause;
  for (const terminal of [true, false]) {
    const [line] = lines({ level: "info", terminal }, () => {
      logger("mcp").error("Failed", {
        error: new Error("storage", { cause }),
        circle,
        big: 1n,
      });
    });
    assert.match(line, /storage.*[Cc]aused by:? TypeError: locked/s);
  }
});

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
