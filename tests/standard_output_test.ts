import assert from "node:assert/strict";
import { Log } from "../src/log.ts";
import { standardOutput } from "../src/standard_output.ts";

const METHODS = ["debug", "info", "log", "warn", "error"] as const;

/** The console calls that a log makes. */
async function calls(
  captured: boolean,
  speak: (log: Log) => void,
): Promise<{ method: string; text: string }[]> {
  const real = METHODS.map((method) => console[method]);
  const written: { method: string; text: string }[] = [];
  for (const method of METHODS) {
    console[method] = (...parts: unknown[]) => {
      written.push({ method, text: parts.join(" ") });
    };
  }
  try {
    const log = new Log("debug", standardOutput(captured));
    speak(log);
    await log.flush();
  } finally {
    METHODS.forEach((method, index) => console[method] = real[index]);
  }
  return written;
}

Deno.test("standardOutput() writes what waited before a warning, and with it", async () => {
  const written = await calls(false, (log) => {
    const logger = log.logger("mcp");
    logger.info("one");
    logger.info("two");
    logger.warning("three");
    logger.info("four");
  });
  const messages = written.map(({ text }) =>
    text.split("\n").map((line) => JSON.parse(line).message)
  );
  assert.deepEqual(messages, [["one", "two", "three"], ["four"]]);
});

Deno.test("standardOutput() makes one call of the right level for each event where calls are captured", async () => {
  const made = await calls(true, (log) => {
    const logger = log.logger("mcp");
    logger.debug("one");
    logger.info("two");
    logger.warning("three");
    logger.error("four");
  });
  assert.deepEqual(
    made.map(({ method, text }) => [method, JSON.parse(text).message]),
    [["debug", "one"], ["info", "two"], ["warn", "three"], ["error", "four"]],
  );
});
