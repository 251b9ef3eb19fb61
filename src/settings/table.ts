/**
 * The table of settings: every variable that the server reads.
 *
 * @module
 */
import { PROVIDER } from "./provider.ts";
import { AUTH } from "./auth.ts";
import { CLIENTS } from "./clients.ts";
import { CREDENTIALS } from "./credentials.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { JWT } from "./jwt.ts";
import { PEOPLE } from "./people.ts";
import { SERVER } from "./server.ts";
import type { NamedSetting } from "./setting.ts";

/** Settings by the title of their group, as operators read them. */
export const TABLE: Readonly<Record<string, readonly NamedSetting[]>> = {
  "The server": Object.values(SERVER),
  "Who may call": Object.values(AUTH),
  "AUTH_STRATEGY=oauth: the provider": Object.values(PROVIDER),
  "AUTH_STRATEGY=oauth: people": Object.values(PEOPLE),
  "AUTH_STRATEGY=oauth: clients": Object.values(CLIENTS),
  "AUTH_STRATEGY=oauth: lifetimes": Object.values(LIFETIMES),
  "AUTH_STRATEGY=bearer or api_key": Object.values(CREDENTIALS),
  "AUTH_STRATEGY=jwt": Object.values(JWT),
};

export const SETTINGS: readonly NamedSetting[] = Object.values(TABLE).flat();

/** Variables that the platform sets, not people. */
const PLATFORM = [
  "DENO_DEPLOYMENT_ID",
  "DENO_USE_CGROUPS",
  "SYSTEMD_EXEC_PID",
  // Deno's own: docs/telemetry.md.
  "OTEL_DENO_CONSOLE",
  "OTEL_EXPORTER_OTLP_TIMEOUT",
];

export const VARIABLES: readonly string[] = [
  ...SETTINGS.flatMap(({ name, formerly }) =>
    formerly === undefined ? [name] : [name, formerly]
  ),
  ...PLATFORM,
];

/** True if the table, or the platform, has a variable that an author declares. */
export function isGiven(variable: string): boolean {
  return VARIABLES.includes(variable) || variable.startsWith("DENO_");
}
