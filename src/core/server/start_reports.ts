/**
 * Warnings at a start, loaded only if there may be any.
 *
 * @module
 */
import { scopeDoubts } from "../../authoring/scope.ts";
import type { Logger } from "../log/log.ts";
import type { Database } from "../kv/database.ts";
import { noteBaseUrl } from "../store/last_start.ts";
import { neededScopes, type Plan } from "./plan.ts";

/** Logs probable mistakes in options and settings, at the first start only. */
export function reportDoubts(plan: Plan): void {
  plan.isReported = true;
  const { options, config, log } = plan;
  const { unneeded, wordless } = scopeDoubts(
    neededScopes(options),
    options.scopes,
  );
  const start = log.logger("start");
  for (const note of config.notes) start.warning(note);
  for (const scope of unneeded) {
    start.warning("A scope has words, but nothing here needs it", { scope });
  }
  for (const scope of wordless) {
    start.warning("A scope has no words: people are shown its name", { scope });
  }
}

/** Logs that connections were made at another `BASE_URL`. */
export async function reportOldAddress(
  database: Database,
  baseUrl: string,
  log: Logger,
): Promise<void> {
  const elsewhere = await noteBaseUrl(database, baseUrl);
  if (elsewhere === undefined) return;
  log.warning(
    "Connections were made at another BASE_URL, and are not good at this one: " +
      "their people connect again",
    {
      baseUrl,
      formerBaseUrl: elsewhere.baseUrl,
      connections: elsewhere.connections,
    },
  );
}
