import assert from "node:assert/strict";
import { Log } from "../../../src/core/log/log.ts";
import { standardOutput } from "../../../src/core/log/standard_output.ts";

const METHODS = ["debug", "info", "log", "warn", "error"] as const;

Deno.test("standardOutput() makes one call of the right level for each event where the console is the log", () => {
  const real = METHODS.map((method) => console[method]);
  const made: unknown[] = [];
  for (const method of METHODS) {
    console[method] = (text: string) =>
      void made.push([method, JSON.parse(text).message]);
  }
  try {
    const log = new Log({ level: "debug" }, standardOutput(true));
    const logger = log.logger("mcp");
    logger.debug("one");
    logger.info("two");
    logger.warning("three");
    logger.error("four");
  } finally {
    METHODS.forEach((method, index) => console[method] = real[index]);
  }
  assert.deepEqual(made, [
    ["debug", "one"],
    ["info", "two"],
    ["warn", "three"],
    ["error", "four"],
  ]);
});
