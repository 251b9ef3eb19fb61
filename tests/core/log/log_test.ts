import assert from "node:assert/strict";
import { Log, LOG_LEVELS, type LogEvent } from "../../../src/core/log/log.ts";
import { type LogOptions, tool } from "../../../src/mod.ts";
import { outcome } from "../../kit/answer.ts";
import { startServer } from "../../kit/server.ts";
import { recordLog } from "../../kit/log.ts";

Deno.test("Log leaves out what is below its level", () => {
  const counts: number[] = [];
  for (const level of ["debug", "info", "warning", "error", "off"] as const) {
    const { logger, events } = recordLog(level);
    logger.debug("one");
    logger.info("two");
    logger.warning("three");
    logger.error("four");
    counts.push(events.length);
  }
  assert.deepEqual(counts, [4, 3, 2, 1, 0]);
});

Deno.test("Log writes audit events at any level but off, unless they are not wanted apart", () => {
  const counts = (audit?: boolean) =>
    LOG_LEVELS.map((level) => {
      const events: LogEvent[] = [];
      const write = (event: LogEvent) => void events.push(event);
      new Log({ level, audit }, { write }).logger("test").audit("Signed in");
      assert(events.every(({ audit }) => audit));
      return events.length;
    });
  assert.deepEqual(counts(), [1, 1, 1, 1, 0]);
  assert.deepEqual(counts(false), [1, 1, 0, 0, 0]);
});

Deno.test("Log neither throws nor rejects where its events cannot be written, and tells so once", async () => {
  const told: LogEvent[] = [];
  const failures = [
    () => {
      throw new Error("no sink");
    },
    () => Promise.reject(new Error("no sink")),
  ];
  for (const write of failures) {
    told.length = 0;
    const log = new Log({ level: "info" }, { write, flush: write }, {
      write: (event) => void told.push(event),
    });
    for (let n = 0; n < 3; n++) log.logger("test").info("Request");
    await log.flush();
    const [{ message, properties }, ...others] = told;
    assert.deepEqual([message, others], ["Events could not be written", []]);
    assert.match(String(properties.error), /no sink/);
  }
});

Deno.test("Log takes a logger that returns something, such as itself", async () => {
  const told: LogEvent[] = [];
  const lines: LogEvent[] = [];
  const logger = {};
  const writers = [
    (event: LogEvent) => lines.push(event),
    () => logger,
    () => ({ then: "later" }),
    () => null,
    () => Promise.resolve(1),
  ];
  for (const write of writers) {
    const log = new Log({}, { write }, { write: (event) => told.push(event) });
    log.logger("test").info("Request");
    await log.flush();
    // A rejection would be told by then.
    await Promise.resolve();
  }
  assert.equal(lines.length, 1);
  assert.deepEqual(told, []);
});

/** A tool that fails in a way that no one foresaw. */
const crash = tool({
  name: "crash",
  run: () => {
    throw new Error("unforeseen");
  },
});

/** Calls `crash` of a new server, and gives the events that were written. */
async function eventsOf(
  log: LogOptions,
  env: Record<string, string> = {},
): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  const write = (event: LogEvent) => void events.push(event);
  const options = { env, tools: [crash], log: { ...log, write } };
  await using server = await startServer(options);
  const { result } = await outcome(
    server.call("tools/call", { name: "crash" }),
  );
  assert.equal(result.isError, true);
  return events;
}

Deno.test("createServer() gives each of two servers the log it was given", async () => {
  const [all, errors, none] = await Promise.all([
    eventsOf({}),
    eventsOf({ level: "error" }),
    eventsOf({ level: "off" }),
  ]);
  const told = (events: LogEvent[]) => events.map(({ message }) => message);
  assert.deepEqual(told(all), ["Internal error", "Request"]);
  assert.deepEqual(told(errors), ["Internal error"]);
  assert.deepEqual(told(none), []);
});

Deno.test("LOG_LEVEL goes before the level that an author chose", async () => {
  assert.equal(
    (await eventsOf({ level: "off" }, { LOG_LEVEL: "info" })).length,
    2,
  );
  assert.equal((await eventsOf({}, { LOG_LEVEL: "off" })).length, 0);
});
