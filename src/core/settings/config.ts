/**
 * The settings of a server, parsed once from the environment. All complaints
 * are collected, so that one start lists everything to fix.
 *
 * @module
 */
import type * as z from "zod";
import type { Network } from "../net/address.ts";
import type { LogLevel } from "../log/log.ts";
import { isLoopback } from "../net/url.ts";
import { type AuthConfig, parseAuth } from "./auth.ts";
import { ConfigError } from "./complaint.ts";
import { SettingsTable } from "./table.ts";
import { groupSettings } from "./providers.ts";
import { isPostgres, isRemote, SERVER } from "./server.ts";
import {
  type Environment,
  FeatureValues,
  Settings,
  type SettingsOptions,
} from "./setting.ts";

export type { AuthConfig } from "./auth.ts";

export interface Config {
  host: string;
  /** Port to listen on; 0 lets the system pick. */
  port: number;
  /** True if other processes may listen on the same port. */
  reusePort: boolean;
  /**
   * The public address without a trailing slash; undefined if it is the
   * loopback address.
   */
  baseUrl?: string;
  /** Proxies whose headers about the client's address are trusted. */
  trustedProxies: readonly Network[];
  /** Calls per minute of each caller; 0 means no limit. */
  callsPerMinute: number;
  /**
   * The URL of a Postgres database, or else the argument of `Deno.openKv`;
   * undefined for the platform's default database.
   */
  kvPath?: string;
  /** The password of a Postgres database, if its URL has none. */
  kvPassword?: string;
  /** The number of connections to Postgres, besides the one that listens. */
  kvConnections?: number;
  /**
   * Accepted values of `Origin` besides the server's own and loopback; `*`
   * accepts all.
   */
  allowedOrigins: readonly string[];
  /**
   * The least severe level that is logged. `audit`: true if audit events are
   * logged at any level.
   */
  log: { level: LogLevel; audit: boolean };
  /** `serverInfo.title`: the name that clients show. */
  title: string;
  instructions?: string;
  auth: AuthConfig;
  /** True on Deno Deploy: several isolates, public, no files. */
  deployed: boolean;
  features: FeatureValues;
  /** Parsed values of the settings that authors declared. */
  own: Readonly<Record<string, unknown>>;
  /**
   * Authors' settings that the process may not read, so that their defaults
   * apply.
   */
  unread: readonly string[];
  /** Sentences about names that are misspelt or were changed. */
  notes: readonly string[];
}

/**
 * The settings and defaults of authors, and functions with which the process
 * reads variables and files.
 */
export interface ConfigOptions extends Omit<SettingsOptions, "known"> {
  /** The title if `MCP_TITLE` is unset. */
  title?: string;
  instructions?: string;
  /** The values of `LOG_LEVEL` and `AUDIT_LOG` if those are unset. */
  log?: Partial<Config["log"]>;
  /** Settings that authors declared, keyed by variable. */
  settings?: ReadonlyMap<string, z.ZodType>;
  scopes?: readonly string[];
}

/** Parses an environment. @throws {ConfigError} with every complaint at once */
export function parseConfig(
  environment: Environment,
  {
    title = "Tool Server",
    instructions,
    log = {},
    scopes,
    settings: declared = new Map(),
    ...process
  }: ConfigOptions = {},
): Config {
  const table = new SettingsTable(process.features ?? []);
  const ownSettings = [...declared].map((entry) => table.own(...entry));
  const known = [
    ...table.settings,
    ...groupSettings(environment),
    ...ownSettings,
  ];
  const settings = new Settings(environment, { ...process, known });
  const baseUrl = settings.read(SERVER.BASE_URL);
  const deployed = settings.text({ name: "DENO_DEPLOYMENT_ID" }) !== undefined;
  const linked = deployed ? settings.read(SERVER.DATABASE_URL) : undefined;
  const kvPath = settings.read(SERVER.KV_PATH) ??
    (isPostgres(linked) ? linked : undefined);
  if (isRemote(kvPath)) settings.require(SERVER.DENO_KV_ACCESS_TOKEN);
  else if (deployed && kvPath !== undefined && !isPostgres(kvPath)) {
    // Deno Deploy has no files, and its own database needs no setting.
    settings.complain(SERVER.KV_PATH, {
      got: kvPath,
      wants: "the URL of a remote database, when deployed",
      fix: "Leave it unset for the database that is assigned to the app",
    });
  }
  const host = settings.read(SERVER.HOST);
  const loopback = isLocal({ host, baseUrl, deployed: false });
  const config: Config = {
    host,
    port: settings.read(SERVER.PORT),
    reusePort: settings.read(SERVER.REUSE_PORT),
    baseUrl,
    trustedProxies: settings.read(SERVER.TRUSTED_PROXIES),
    callsPerMinute: settings.read(SERVER.CALLS_PER_MINUTE) ??
      (isLocal({ host, baseUrl, deployed }) ? 0 : 1000),
    kvPath,
    kvPassword: settings.read(SERVER.PGPASSWORD),
    kvConnections: settings.read(SERVER.KV_CONNECTIONS),
    allowedOrigins: settings.read(SERVER.ALLOWED_ORIGINS),
    log: {
      level: settings.readOr(SERVER.LOG_LEVEL, log.level),
      audit: settings.readOr(SERVER.AUDIT_LOG, log.audit),
    },
    title: settings.read(SERVER.MCP_TITLE) ?? title,
    instructions,
    auth: parseAuth(settings, { deployed, loopback }, scopes),
    deployed,
    features: new FeatureValues(),
    own: Object.fromEntries(ownSettings.map((own) => [
      own.name,
      own.isRequired ? settings.require(own) : settings.read(own),
    ])),
    unread: ownSettings.map(({ name }) => name).filter((name) =>
      process.isDenied?.(name) && !table.has(name)
    ),
    notes: [],
  };
  for (const { settings: own } of process.features ?? []) {
    if (!own || own.strategy && !config.auth[own.strategy]) continue;
    for (const row of Object.values(own.rows)) {
      // Was read already, for the rules about people.
      if (row !== own.assertionIssuers) config.features.read(row, settings);
    }
  }
  config.notes = settings.notes();
  settings.complaints.unshift(...process.complaints ?? []);
  if (settings.complaints.length > 0) {
    const address = (fix: string) =>
      fix.replaceAll("BASE_URL/", () => `${baseUrl ?? "BASE_URL"}/`);
    throw new ConfigError(
      settings.complaints.map((it) => ({ ...it, fix: address(it.fix) })),
      config.notes,
    );
  }
  return config;
}

/** True if only this machine can reach the server. */
export function isLocal(
  { host, baseUrl, deployed }: Pick<Config, "host" | "baseUrl" | "deployed">,
): boolean {
  return !deployed && isLoopback({ hostname: host }) &&
    (baseUrl === undefined || isLoopback(new URL(baseUrl)));
}
