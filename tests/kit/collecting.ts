/**
 * A process that seems to have a collector of telemetry.
 *
 * @module
 */
import { startTelemetry } from "../../src/core/telemetry/current.ts";

/** The key of the registration of a collector. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Registers a collector, until it is disposed of. */
export function registerCollector(): Disposable {
  Reflect.set(globalThis, REGISTERED, { version: "1.999.999" });
  return {
    [Symbol.dispose]: () => void Reflect.deleteProperty(globalThis, REGISTERED),
  };
}

/** Begins to collect, until it is disposed of; telemetry stays loaded. */
export async function startCollecting(): Promise<Disposable> {
  const collector = registerCollector();
  await startTelemetry();
  return collector;
}
