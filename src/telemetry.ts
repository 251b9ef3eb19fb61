/**
 * Traces and metrics, for those who collect them. Where no one does, nothing
 * of it is loaded, and each place that could tell something asks once whether
 * `telemetry` is there.
 *
 * @module
 */
import type { Telemetry } from "./telemetry/telemetry.ts";

/** Where OpenTelemetry's API finds what was registered, by Deno or an SDK. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** What is told goes here; undefined where no one collects it. */
export let telemetry: Telemetry | undefined;

/** Whether someone collects traces, metrics or the console: `OTEL_DENO=true`. */
export function isCollected(): boolean {
  return REGISTERED in globalThis;
}

/** Begins to tell, where someone collects. To be awaited before the first request. */
export async function startTelemetry(): Promise<void> {
  if (telemetry || !isCollected()) return;
  const { Telemetry } = await import("./telemetry/telemetry.ts");
  telemetry ??= new Telemetry();
}

/** Begins what outlives a request, such as a timer, outside the request's trace. */
export function detached<T>(begin: () => T): T {
  return telemetry ? telemetry.detached(begin) : begin();
}
