/**
 * The environment of the process, as far as it can be read.
 *
 * @module
 */
import { needsOf } from "../authoring/needs.ts";
import { VARIABLES } from "../config/environment.ts";
import { secretVariables } from "../oauth/configured_client.ts";
import { needing } from "../plan.ts";
import type { ServerOptions } from "../server_options.ts";
import { StartError } from "./start_error.ts";

/**
 * Reads the variables that need no prompt for permission, and lists the others.
 */
export function readEnvironment(
  options: ServerOptions,
): {
  environment: Record<string, string | undefined>;
  denied: ReadonlySet<string>;
} {
  const declared = needsOf(needing(options)).settings.keys();
  const environment: Record<string, string | undefined> = {};
  const denied = new Set<string>();
  for (const variable of [...VARIABLES, ...declared]) {
    const { state } = Deno.permissions.querySync({ name: "env", variable });
    if (state === "granted") environment[variable] = Deno.env.get(variable);
    else denied.add(variable);
  }
  return { environment, denied };
}

/**
 * Reads the file that `OAUTH_CLIENTS` may name, and the variables that it may
 * name.
 *
 * @throws {StartError}
 */
export function readClients(
  environment: Record<string, string | undefined>,
): void {
  let text = environment.OAUTH_CLIENTS?.trim();
  if (!text) return;
  if (!text.startsWith("[")) {
    const path = text;
    const { state } = Deno.permissions.querySync({ name: "read", path });
    try {
      // Otherwise Deno would ask on the terminal.
      if (state !== "granted") throw new Error("there is no --allow-read");
      text = Deno.readTextFileSync(path).trim();
    } catch (error) {
      const { message } = error as Error;
      throw new StartError(
        `OAUTH_CLIENTS: ${path} cannot be read: ${message}. Use a path such ` +
          "as data/clients.json, or a JSON array.",
      );
    }
    environment.OAUTH_CLIENTS = text;
  }
  for (const variable of secretVariables(text)) {
    const { state } = Deno.permissions.querySync({ name: "env", variable });
    if (state === "granted") environment[variable] = Deno.env.get(variable);
  }
}
