/**
 * `GET /ready`: reports if the process can serve requests now.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError } from "../errors.ts";
import type { AppEnv } from "./client_address.ts";

/** The minimum time between two probes of the database. */
const FRESH_MILLISECONDS = 1000;

interface ReadinessOptions {
  /** Reads or writes the database. @throws if the database does not respond */
  probeDatabase(): Promise<unknown>;
  /**
   * Returns each sign-in provider's reachability, with its name if there are
   * several.
   */
  providers(): readonly { key?: string; is: string }[];
  /** Members of the response that say what cannot work on this server. */
  faults?: object;
  isStopping(): boolean;
}

/**
 * Makes the handler. It responds with 200 if the database responds, else with
 * 503. It only reports the provider's reachability, because most requests do
 * not need the provider. A stopping process responds with 503 as long as it
 * can.
 */
export function readiness(
  { probeDatabase, providers, faults, isStopping }: ReadinessOptions,
): (c: Context<AppEnv>) => Promise<Response> {
  let checkedMilliseconds = -Infinity;
  let checking: Promise<unknown> = Promise.resolve();
  return async (c) => {
    c.header("Cache-Control", "no-store");
    if (isStopping()) {
      // Returned, not thrown as an HttpError: stopping is no error to explain.
      c.set("refusal", "stopping");
      return c.json({ status: "stopping" }, 503);
    }
    const time = performance.now();
    if (time - checkedMilliseconds >= FRESH_MILLISECONDS) {
      checkedMilliseconds = time;
      checking = probeDatabase();
    }
    try {
      await checking;
    } catch (cause) {
      const message = "The database does not answer, or takes nothing";
      throw new HttpError(503, message, { cause });
    }
    const all = providers();
    const states = all.length > 1
      ? { providers: Object.fromEntries(all.map(({ key, is }) => [key, is])) }
      : { provider: all[0]?.is };
    return c.json({ status: "ok", database: "ok", ...states, ...faults });
  };
}
