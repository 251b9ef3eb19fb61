/**
 * The environment, parsed once. Every complaint is collected, so that one
 * start tells everything there is to mend.
 *
 * @module
 */
import * as z from "zod";
import { type AuthConfig, parseAuth } from "./auth_config.ts";
import { LOG_LEVELS, type LogLevel } from "./log.ts";
import { isLoopback } from "./loopback.ts";
import { ConfigError, type Environment, Settings } from "./settings.ts";

export type { AuthConfig } from "./auth_config.ts";

/** The settings of one server. */
export interface Config {
  /** Address to listen on. */
  host: string;
  /** Port to listen on; 0 lets the system pick. */
  port: number;
  /** Public origin without a trailing slash; undefined: the loopback one. */
  baseUrl?: string;
  /** Argument of `Deno.openKv`; undefined: the platform's default database. */
  kvPath?: string;
  /** Browser origins beside our own and loopback; `*` allows all. */
  allowedOrigins: readonly string[];
  logLevel: LogLevel;
  /** `serverInfo.title`: what clients show. */
  title: string;
  /** What a model is told about using this server. */
  instructions?: string;
  auth: AuthConfig;
  /** On Deno Deploy: several isolates, public, no files. */
  deployed: boolean;
  /** What Deno Deploy calls this deployment, and where it runs. */
  deployment?: string;
  region?: string;
}

const HOST = {
  schema: z.string().regex(/^([0-9a-f:]*:[0-9a-f:.]*|[a-z0-9.-]+)$/i),
  wants: "an address or a name to listen on, without a port",
  fix: "Use 127.0.0.1 for this machine only, or 0.0.0.0 for every network.",
};

const PORT = {
  schema: z.coerce.number().int().min(0).max(65535),
  wants: "a port from 0 to 65535",
  fix: "Use PORT=3000, or 0 to let the system pick one.",
};

const BASE_URL = {
  schema: z.string().transform((text, context) => {
    const url = URL.parse(text);
    const bare = url && url.pathname === "/" && !url.search && !url.hash &&
      !url.username && !url.password;
    const isLocal = bare && url.protocol === "http:" && isLoopback(url);
    if (bare && url.protocol === "https:" || isLocal) {
      return url.origin;
    }
    context.addIssue("not a public origin");
    return z.NEVER;
  }),
  wants: "an https origin without a path, or http on a loopback address",
  fix: "Use the address people type, such as https://tools.example.com.",
};

const KV_PATH = {
  schema: z.string(),
  wants: "a file, :memory:, or the http(s) URL of a remote database",
  fix: "Leave it unset for the default database, or use data/tools.db.",
};

/** Deno Deploy has no files; its own database needs no setting. */
const KV_URL = {
  schema: z.string().regex(/^https?:\/\//),
  wants: "the http(s) URL of a remote database, when deployed",
  fix: "Leave it unset for the database that is assigned to the app.",
};

const KV_ACCESS_TOKEN = {
  schema: z.string(),
  wants: "the access token of the database that KV_PATH names",
  fix: "Use the token that the database was started with.",
  secret: true,
};

const ALLOWED_ORIGINS = {
  schema: z.string().transform((text, context) => {
    const origins = text.split(",").map((origin) => origin.trim());
    for (const origin of origins) {
      if (origin === "*" || URL.parse(origin)?.origin === origin) continue;
      context.addIssue("not an origin");
    }
    return origins;
  }),
  wants: "origins separated by commas, or *",
  fix: "Use scheme, host and port only, such as https://app.example.com.",
};

const LOG_LEVEL = {
  schema: z.enum(LOG_LEVELS),
  wants: `one of ${LOG_LEVELS.join(", ")}`,
  fix: "Use LOG_LEVEL=info, or leave it unset.",
};

/**
 * Parses an environment.
 *
 * @throws {ConfigError} with every complaint at once
 */
export function parseConfig(environment: Environment): Config {
  const settings = new Settings(environment);
  const baseUrl = settings.read("BASE_URL", BASE_URL);
  const deployment = settings.text("DENO_DEPLOYMENT_ID");
  const deployed = deployment !== undefined;
  const kvPath = settings.read("KV_PATH", deployed ? KV_URL : KV_PATH);
  if (kvPath && KV_URL.schema.safeParse(kvPath).success) {
    settings.require("DENO_KV_ACCESS_TOKEN", KV_ACCESS_TOKEN);
  }
  const host = settings.read("HOST", HOST) ?? "127.0.0.1";
  const config: Config = {
    host,
    port: settings.read("PORT", PORT) ?? 3000,
    baseUrl,
    kvPath,
    allowedOrigins: settings.read("ALLOWED_ORIGINS", ALLOWED_ORIGINS) ?? [],
    logLevel: settings.read("LOG_LEVEL", LOG_LEVEL) ?? "info",
    title: settings.text("MCP_TITLE") ?? "Tool Server",
    instructions: settings.text("MCP_INSTRUCTIONS"),
    auth: parseAuth(settings, {
      deployed,
      loopback: isLoopback({ hostname: host }) &&
        (baseUrl === undefined || isLoopback(new URL(baseUrl))),
    }),
    deployed,
    deployment,
    region: settings.text("DENO_REGION"),
  };
  if (settings.complaints.length > 0) {
    throw new ConfigError(settings.complaints);
  }
  return config;
}
