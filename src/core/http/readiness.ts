/**
 * `GET /ready`: tells if requests can be served now.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError } from "../errors.ts";
import type { AppEnv } from "./client_address.ts";

/** The least time between two probes of the database, however many ask. */
const FRESH_MILLISECONDS = 1000;

interface ReadinessOptions {
  /** Reads or writes something. @throws when the database does not answer */
  probeDatabase(): Promise<unknown>;
  /** Returns the state of each provider, and its name if there are several. */
  providers(): readonly { key?: string; is: string }[];
  /** The settings that are missing for people's accounts, which tools need. */
  missingForAccounts?: readonly string[];
  /** True if the process is about to end. */
  isStopping(): boolean;
}

/**
 * Makes the handler. It answers 200 if the database answers, else 503. The
 * state of the provider is reported but decides nothing: most requests do not
 * need it. A process that is about to end answers 503 for as long as it can.
 */
export function readiness(
  { probeDatabase, providers, missingForAccounts = [], isStopping }:
    ReadinessOptions,
): (c: Context<AppEnv>) => Promise<Response> {
  let checkedMilliseconds = -Infinity;
  let checking: Promise<unknown> = Promise.resolve();
  return async (c) => {
    c.header("Cache-Control", "no-store");
    if (isStopping()) {
      // Not thrown, because there is no failure to explain.
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
    return c.json({
      status: "ok",
      database: "ok",
      ...states,
      ...missingForAccounts.length > 0 && {
        accounts: "off",
        missing: missingForAccounts,
      },
    });
  };
}
