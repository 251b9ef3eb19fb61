/**
 * Traces and metrics. If an operator collects none, `telemetry` is undefined
 * and the code is not loaded.
 * @module
 */
import type { Telemetry } from "./telemetry.ts";

/** The global under which Deno or an SDK registers with OpenTelemetry's API. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Undefined if no telemetry is collected. */
export let telemetry: Telemetry | undefined;

/** True if traces, metrics or the console are collected: `OTEL_DENO=true`. */
export function isCollected(): boolean {
  return REGISTERED in globalThis;
}

/** Starts telemetry if it is collected. Await this before the first request. */
export async function startTelemetry(): Promise<void> {
  if (telemetry || !isCollected()) return;
  const { Telemetry } = await import("./telemetry.ts");
  telemetry ??= new Telemetry();
}

/**
 * Starts work that outlives a request, such as a timer, outside the request's
 * trace.
 */
export function outsideTrace<T>(begin: () => T): T {
  return telemetry ? telemetry.outsideTrace(begin) : begin();
}
