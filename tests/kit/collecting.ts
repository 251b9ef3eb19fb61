/**
 * A process that seems to have a collector of telemetry.
 *
 * @module
 */
import { startTelemetry } from "../../src/telemetry/current.ts";

/** The key of the registration of a collector. */
export const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/** Begins to collect, until it is disposed of; telemetry stays loaded. */
export async function startCollecting(): Promise<Disposable> {
  Reflect.set(globalThis, REGISTERED, { version: "1.999.999" });
  await startTelemetry();
  return {
    [Symbol.dispose]: () => void Reflect.deleteProperty(globalThis, REGISTERED),
  };
}
