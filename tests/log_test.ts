import assert from "node:assert/strict";
import { configureLog, flushLog, logger, type LogLevel } from "../src/log.ts";

const METHODS = ["debug", "info", "log", "warn", "error"] as const;

/** What reaches the console while `speak` runs. */
async function lines(
  options: { level: LogLevel; terminal: boolean },
  speak: () => void,
): Promise<string[]> {
  const real = METHODS.map((method) => console[method]);
  const written: string[] = [];
  for (const method of METHODS) {
    console[method] = (...parts: unknown[]) => {
      written.push(parts.join(" "));
    };
  }
  try {
    configureLog(options);
    speak();
    await flushLog();
  } finally {
    METHODS.forEach((method, index) => console[method] = real[index]);
    configureLog({ level: "off" });
  }
  return written;
}

Deno.test("configureLog() writes an event as one line of JSON", async () => {
  const [line, ...others] = await lines(
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

Deno.test("configureLog() writes readable words on a terminal", async () => {
  const [line] = await lines({ level: "info", terminal: true }, () => {
    logger("mcp").warning("Refused", { outcome: "404", tool: undefined });
  });
  assert.match(line, /^\d\d:\d\d:\d\d\S* WARNING Refused outcome=404\s*$/i);
});

Deno.test("configureLog() tells where an error came from", async () => {
  for (const terminal of [true, false]) {
    const [line] = await lines({ level: "info", terminal }, () => {
      logger("mcp").error("Internal error", { error: new RangeError("far") });
    });
    assert.match(line, /RangeError: far/);
    assert.match(line, /log_test\.ts/);
  }
});

Deno.test("configureLog() leaves out what is below its level", async () => {
  const speak = () => {
    const log = logger("mcp");
    log.debug("one");
    log.info("two");
    log.warning("three");
    log.error("four");
  };
  const counts: number[] = [];
  for (const level of ["debug", "info", "warning", "error", "off"] as const) {
    const written = await lines({ level, terminal: false }, speak);
    counts.push(written.flatMap((chunk) => chunk.split("\n")).length);
  }
  assert.deepEqual(counts, [4, 3, 2, 1, 0]);
});

Deno.test("configureLog() writes what waited before a warning, and with it", async () => {
  const written = await lines({ level: "info", terminal: false }, () => {
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
