/**
 * The table of settings: every variable that the server reads, and rows for
 * those that authors declare.
 *
 * @module
 */
import { PROVIDER } from "./provider.ts";
import { AUTH } from "./auth.ts";
import { CLIENTS } from "./clients.ts";
import { CREDENTIALS, JWT } from "./credentials.ts";
import { LIFETIMES } from "./oauth.ts";
import { PEOPLE_SETTINGS } from "./people.ts";
import { SERVER } from "./server.ts";
import type { NamedSetting, SettingsOwner } from "./setting.ts";
import type * as z from "zod";
import { describe, isSecret } from "../../authoring/setting.ts";
import { oneLine } from "./complaint.ts";
import { ShapeError } from "./shapes.ts";

/** The settings of the core, keyed by group title. */
const OF_CORE: Readonly<Record<string, readonly NamedSetting[]>> = {
  "The server": Object.values(SERVER),
  "Who may call": Object.values(AUTH),
  "AUTH_STRATEGY=oauth: the provider": Object.values(PROVIDER),
  "AUTH_STRATEGY=oauth: people": Object.values(PEOPLE_SETTINGS),
  "AUTH_STRATEGY=oauth: clients": Object.values(CLIENTS),
  "AUTH_STRATEGY=oauth: lifetimes": Object.values(LIFETIMES),
  "AUTH_STRATEGY=bearer or api_key": Object.values(CREDENTIALS),
  "AUTH_STRATEGY=jwt": Object.values(JWT),
};

/** The variable with the URL that `deno task dev` last announced. */
export const ANNOUNCED = "TOOL_SERVER_ANNOUNCED";

/** Variables that are set by the platform or the process, not by people. */
const PLATFORM = [
  ANNOUNCED,
  "DENO_DEPLOYMENT_ID",
  "DENO_USE_CGROUPS",
  "SYSTEMD_EXEC_PID",
  // Deno's own variables: see docs/telemetry.md.
  "OTEL_DENO_CONSOLE",
  "OTEL_EXPORTER_OTLP_TIMEOUT",
  "OTEL_METRIC_EXPORT_INTERVAL",
];

export interface DeclaredSetting extends NamedSetting {
  isRequired: boolean;
}

/** The settings of the core and of features. */
export class SettingsTable {
  /**
   * Settings, keyed by group title, in the order in which operators read them.
   */
  readonly groups: Readonly<Record<string, readonly NamedSetting[]>>;
  readonly settings: readonly NamedSetting[];
  readonly variables: readonly string[];

  constructor(features: readonly SettingsOwner[]) {
    const groups = { ...OF_CORE };
    for (const { settings } of features) {
      if (!settings) continue;
      const { title, rows } = settings;
      groups[title] = [...groups[title] ?? [], ...Object.values(rows)];
    }
    this.groups = groups;
    this.settings = Object.values(groups).flat();
    this.variables = [...this.settings.map(({ name }) => name), ...PLATFORM];
  }

  /** True for a variable that a setting, Deno or the platform uses. */
  has(variable: string): boolean {
    return this.variables.includes(variable) || variable.startsWith("DENO_");
  }

  /** Makes the row of a setting that an author declares. */
  own(name: string, schema: z.ZodType): DeclaredSetting {
    const secret = isSecret(schema) ||
      this.settings.some((setting) => setting.name === name && setting.secret);
    const words = describe(schema)?.trim();
    const parse = (text?: string) => {
      const { success, data, error } = schema.safeParse(text);
      if (success) return data;
      throw new ShapeError(detailOf(error, secret ? text : undefined));
    };
    const wants = words
      ? `a value for "${words.replace(/\.+$/, "")}"`
      : "a value that its schema accepts";
    const row = {
      name,
      words: words ? oneLine(words) : "",
      shape: { wants, parse },
      secret,
    };
    try {
      return { ...row, default: parse(), isRequired: false };
    } catch {
      return { ...row, isRequired: true };
    }
  }
}

/** Formats Zod's messages, without those that repeat a part of a secret. */
function detailOf({ issues }: z.ZodError, secret?: string): string {
  return issues
    .map(({ message }) => message.replace(/^Invalid (input|option): /, ""))
    .filter((message) => secret === undefined || !repeats(message, secret))
    .map((message) => message.replace(/\.+$/, ""))
    .join("; ");
}

/**
 * True if a message contains four characters in a row of a secret, or all of a
 * shorter secret.
 */
function repeats(message: string, secret: string): boolean {
  const length = Math.min(4, secret.length);
  for (let at = 0; at + length <= secret.length; at++) {
    if (message.includes(secret.slice(at, at + length))) return true;
  }
  return false;
}
