/**
 * The environment, parsed once. All complaints are collected, so that one start
 * lists everything to fix.
 *
 * @module
 */
import * as z from "zod";
import { type AuthConfig, BOOLEAN, parseAuth } from "./auth.ts";
import { type Network, parseNetwork } from "../address.ts";
import { isSecret } from "../authoring/setting.ts";
import { LOG_LEVELS, type LogLevel } from "../log.ts";
import { isLoopback } from "../loopback.ts";
import { ConfigError, type Environment, Settings } from "./environment.ts";

export type { AuthConfig } from "./auth.ts";

/** The settings of one server. */
export interface Config {
  /** Address to listen on. */
  host: string;
  /** Port to listen on; 0 lets the system pick. */
  port: number;
  /** True if other processes may listen on the same port. */
  reusePort: boolean;
  /** Public address without a trailing slash; undefined: the loopback one. */
  baseUrl?: string;
  /** Proxies whose headers about the client's address are trusted. */
  trustedProxies: readonly Network[];
  /** Calls per minute of each caller; 0: no limit. */
  callsPerMinute: number;
  /** Argument of `Deno.openKv`; undefined: the platform's default database. */
  kvPath?: string;
  /** Browser origins besides our own and loopback; `*` allows all. */
  allowedOrigins: readonly string[];
  /** The level of the log, and whether audit events go past it; see `LogOptions`. */
  log: { level: LogLevel; audit: boolean };
  /** `serverInfo.title`: the name that clients show. */
  title: string;
  /** Instructions for models that use this server. */
  instructions?: string;
  auth: AuthConfig;
  /** On Deno Deploy: several isolates, public, no files. */
  deployed: boolean;
  /** True if a server card describes the server to directories (SEP-2127). */
  serverCard: boolean;
  /** The token that OpenAI's directory looks for, to verify the domain. */
  openaiChallenge?: string;
  /** Parsed values of the settings that authors declared. */
  own: Readonly<Record<string, unknown>>;
  /**
   * Settings of authors that have their default because they may not be read.
   */
  unread: readonly string[];
}

/** An author's own settings and defaults. */
export interface ConfigOptions {
  /** Used in place of an unset `MCP_TITLE`. */
  title?: string;
  /** Used in place of an unset `MCP_INSTRUCTIONS`. */
  instructions?: string;
  /** The values of `LOG_LEVEL` and `AUDIT_LOG` where those are unset. */
  log?: Partial<Config["log"]>;
  /** Settings that authors declared, by the name of their variable. */
  settings?: ReadonlyMap<string, z.ZodType>;
  /** Variables that the process has no permission to read. */
  denied?: ReadonlySet<string>;
  /** All scopes of the server. */
  scopes?: readonly string[];
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

/** Paths that every parser reads the same way. */
const BASE_PATH = /^\/(?:[\w~-]+(?:\.[\w~-]+)*\/)*(?:[\w~-]+(?:\.[\w~-]+)*)?$/;

const BASE_URL = {
  schema: z.string().transform((text, context) => {
    const url = URL.parse(text);
    const isPlain = url && BASE_PATH.test(url.pathname) && !url.search &&
      !url.hash && !url.username && !url.password;
    const isLocal = isPlain && url.protocol === "http:" && isLoopback(url);
    if (isPlain && url.protocol === "https:" || isLocal) {
      return url.origin + url.pathname.replace(/\/$/, "");
    }
    context.addIssue("not a public address");
    return z.NEVER;
  }),
  wants: "an https address, or http on a loopback address",
  fix: "Use the address people type, such as https://tools.example.com.",
};

/**
 * The address of a remote database. Its token has a variable of its own, which
 * no log and no error repeats.
 */
const REMOTE = /^https?:\/\/(?![^/?#]*@)/;

const TRUSTED_PROXIES = {
  schema: z.string().transform((text, context) =>
    text.split(",").map((item) => {
      const network = parseNetwork(item.trim());
      if (network !== undefined) return network;
      context.addIssue("not an address or a range");
      return z.NEVER;
    })
  ),
  wants: "addresses or ranges of your proxies, separated by commas",
  fix: "For example: 127.0.0.1,10.0.0.0/8,fd00::/8.",
};

const CALLS_PER_MINUTE = {
  schema: z.string().regex(/^\d{1,6}$/).transform(Number),
  wants: "a number of calls",
  fix: "Leave it unset for 1000, or use 0 for no limit.",
};

const KV_PATH = {
  schema: z.string().refine((text) =>
    !/^https?:/.test(text) || REMOTE.test(text)
  ),
  wants: "a file, :memory:, or the http(s) URL of a remote database, " +
    "without a password",
  fix: "Leave it unset for the default database, or use data/tools.db.",
};

/**
 * The address of a database on Deno Deploy, which has no files; its own
 * database needs no setting.
 */
const KV_URL = {
  schema: z.string().regex(REMOTE),
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

const OPENAI_CHALLENGE = {
  schema: z.string().regex(/^[\x21-\x7E]{1,512}$/),
  wants: "the token that OpenAI gave for this domain",
  fix: "Copy it from the app's page there, without spaces or line ends.",
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
export function parseConfig(
  environment: Environment,
  { title = "Tool Server", instructions, log = {}, scopes, ...own }:
    ConfigOptions = {},
): Config {
  const settings = new Settings(environment);
  const baseUrl = settings.read("BASE_URL", BASE_URL);
  const deployed = settings.text("DENO_DEPLOYMENT_ID") !== undefined;
  const kvPath = settings.read("KV_PATH", deployed ? KV_URL : KV_PATH);
  if (kvPath && KV_URL.schema.safeParse(kvPath).success) {
    settings.require("DENO_KV_ACCESS_TOKEN", KV_ACCESS_TOKEN);
  }
  const host = settings.read("HOST", HOST) ?? "127.0.0.1";
  const loopback = isLocal({ host, baseUrl, deployed: false });
  const config: Config = {
    host,
    port: settings.read("PORT", PORT) ?? 3000,
    reusePort: settings.read("REUSE_PORT", BOOLEAN) ?? false,
    baseUrl,
    trustedProxies: settings.read("TRUSTED_PROXIES", TRUSTED_PROXIES) ?? [],
    callsPerMinute: settings.read("CALLS_PER_MINUTE", CALLS_PER_MINUTE) ??
      (isLocal({ host, baseUrl, deployed }) ? 0 : 1000),
    kvPath,
    allowedOrigins: settings.read("ALLOWED_ORIGINS", ALLOWED_ORIGINS) ?? [],
    log: {
      level: settings.read("LOG_LEVEL", LOG_LEVEL) ?? log.level ?? "info",
      audit: settings.read("AUDIT_LOG", BOOLEAN) ?? log.audit ?? true,
    },
    title: settings.text("MCP_TITLE") ?? title,
    instructions: settings.text("MCP_INSTRUCTIONS") ?? instructions,
    auth: parseAuth(settings, { deployed, loopback }, scopes),
    deployed,
    serverCard: settings.read("SERVER_CARD", BOOLEAN) ?? true,
    openaiChallenge: settings.read("OPENAI_APPS_CHALLENGE", OPENAI_CHALLENGE),
    ...parseOwn(settings, own),
  };
  if (settings.complaints.length > 0) {
    throw new ConfigError(settings.complaints);
  }
  return config;
}

/** True if only this machine reaches the server. */
export function isLocal(
  { host, baseUrl, deployed }: Pick<Config, "host" | "baseUrl" | "deployed">,
): boolean {
  return !deployed && isLoopback({ hostname: host }) &&
    (baseUrl === undefined || isLoopback(new URL(baseUrl)));
}

/** Variables that the platform sets, and that are absent elsewhere. */
const PLATFORM = /^DENO_/;

/**
 * Parses the settings of authors, whose schemas take the text of the variables.
 */
function parseOwn(
  settings: Settings,
  { settings: declared = new Map(), denied = new Set() }: ConfigOptions,
): Pick<Config, "own" | "unread"> {
  const own: Record<string, unknown> = {};
  const unread: string[] = [];
  for (const [variable, schema] of declared) {
    const got = settings.text(variable);
    const parsed = schema.safeParse(got);
    if (parsed.success) {
      own[variable] = parsed.data;
      if (denied.has(variable) && !PLATFORM.test(variable)) {
        unread.push(variable);
      }
    } else {
      settings.complain({
        variable,
        got: got !== undefined && isSecret(schema) ? "(hidden)" : got,
        wants: schema.description ?? "a value that its schema accepts",
        fix: denied.has(variable)
          ? "It may not be read: add it to permissions.default.env in " +
            `deno.json, or run with --allow-env=${variable}.`
          : parsed.error.issues.map(({ message }) => `${message}.`).join(" "),
      });
    }
  }
  return { own, unread };
}
