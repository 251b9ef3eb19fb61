/** Printing a tool's return value as a result. */
import {
  sessionPrinter,
  statelessPrinter,
} from "../../src/mcp/wire/printer.ts";
import { structuredResult } from "../../src/mcp/wire/tool_result.ts";
import { health } from "../peers/catalogue.mjs";
import { readHealth } from "../peers/health.mjs";

const printer = statelessPrinter({ name: "bench", version: "1.0.0" });
const output = readHealth();
const result = structuredResult(output, true);

Deno.bench("the output schema of health", () => {
  health.output.safeParse(output);
});

Deno.bench("structuredResult() of health", () => {
  structuredResult(output, true);
});

Deno.bench("a 2025 result as text", () => {
  sessionPrinter.result(result);
});

Deno.bench("a 2026 result as text", () => {
  printer.result(result);
});
