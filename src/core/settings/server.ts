/**
 * The settings of the server itself.
 *
 * @module
 */
import { parseNetwork } from "../net/address.ts";
import { LOG_LEVELS } from "../log/log.ts";
import { parseServerUrl } from "../net/server_url.ts";
import { hideSecrets } from "../net/url.ts";
import { settingsOf } from "./setting.ts";
import {
  anyText,
  BOOLEAN_SHAPE,
  listOf,
  oneOf,
  refuseText,
  textMatching,
  wholeNumber,
} from "./shapes.ts";

/** Matches paths that every parser reads the same way. */
const BASE_PATH = /^\/(?:[\w~-]+(?:\.[\w~-]+)*\/)*(?:[\w~-]+(?:\.[\w~-]+)*)?$/;

function parseBaseUrl(text: string): string {
  const url = parseServerUrl(text);
  if (!url || url.search || !BASE_PATH.test(url.pathname)) return refuseText();
  const base = url.origin + url.pathname.replace(/\/$/, "");
  if (base.endsWith("/mcp")) return refuseText("without /mcp at its end");
  return base;
}

function parseOrigin(text: string): string {
  return text === "*" || URL.parse(text)?.origin === text ? text : refuseText();
}

/** True if a `KV_PATH` is the URL of a remote Deno KV database. */
export function isRemote(path = ""): boolean {
  return /^https?:/.test(path);
}

/** True if a `KV_PATH` is the URL of a Postgres database. */
export function isPostgres(path = ""): boolean {
  return /^postgres(ql)?:/.test(path);
}

/**
 * Formats a `KV_PATH` without secrets: the scheme, host and path of a URL; only
 * the scheme if it is unclear which part is the password.
 */
export function printDatabase(path: string): string {
  const [, scheme, rest] = /^([a-z][a-z\d+.-]+:)(.*)$/is.exec(path) ?? [];
  if (scheme === undefined || scheme === "file:") return hideSecrets(path);
  const url = URL.parse(path);
  const isClear = url?.host && rest.startsWith("//") &&
    !/[@#]/.test(url.pathname + url.search + url.hash);
  if (!isClear) return `${scheme}(hidden)`;
  // For Postgres the role is left out, as in errors and the log.
  const hasPerson = !isPostgres(path) && (url.username || url.password);
  const person = hasPerson ? "(hidden)@" : "";
  return `${scheme}//${person}${url.host}${url.pathname}`;
}

/** The machines that can reach the server. */
export interface Exposure {
  /** True on a public platform. */
  deployed: boolean;
  /** True if only this machine can reach the server. */
  loopback: boolean;
}

export const SERVER = settingsOf({
  HOST: {
    words: "Address to listen on; `0.0.0.0` for every network.",
    shape: textMatching(
      "an address or a name to listen on, without a port",
      /^([0-9a-f:]*:[0-9a-f:.]*|[a-z0-9.-]+)$/i,
    ),
    default: "127.0.0.1",
  },
  PORT: {
    words: "Port to listen on; `0` lets the system pick one.",
    shape: wholeNumber("a port", 65535),
    default: 3000,
  },
  REUSE_PORT: {
    words:
      "Lets other processes listen on the same port; `deno task ts cores` " +
      "sets it.",
    shape: BOOLEAN_SHAPE,
    default: false,
  },
  BASE_URL: {
    words:
      "Public address, as people type it; needed wherever other machines " +
      "connect.",
    shape: {
      wants: "the address people type: https, or http on a loopback address",
      parse: parseBaseUrl,
    },
    unset: "the loopback address that the server listens on",
    example: "https://tools.example.com",
  },
  TRUSTED_PROXIES: {
    words:
      "Your proxies. Only their `Forwarded` or `X-Forwarded-For` tells a " +
      "client's address.",
    shape: listOf(
      "addresses or ranges of your proxies",
      (item) => parseNetwork(item) ?? refuseText(),
    ),
    default: [],
    unset: "no proxy is trusted, and all who are behind one share one limit",
    example: "127.0.0.1,10.0.0.0/8,fd00::/8",
  },
  CALLS_PER_MINUTE: {
    words: "Calls of each caller in a minute, ten times as many for a static " +
      "credential or a network; `0`: no limit. See docs/limits.md.",
    shape: wholeNumber("a number of calls", 999_999),
    unset: "1000, or no limit where only this machine calls",
    example: "1000",
  },
  KV_PATH: {
    words:
      "Database: a file, `:memory:`, the http(s) URL of a denokv server, " +
      "or a `postgres://` URL. See docs/postgres.md.",
    shape: textMatching(
      "a file without file:, :memory:, the http(s) URL of a denokv server " +
        "without a password, or a postgres:// URL",
      // SQLite would read file: as a URL, with options of its own.
      /^(?:https?:\/\/(?!.*@)|postgres(?:ql)?:\/\/|(?!\/\/|[a-zA-Z][\w+.-]+:))/,
    ),
    print: printDatabase,
    unset: "Deno's default database for this folder, or on Deno Deploy the " +
      "one assigned to the app",
    example: "data/tools.db",
  },
  DATABASE_URL: {
    words: "The linked Postgres, which Deno Deploy sets itself. Read there " +
      "alone, and only if `KV_PATH` is unset.",
    shape: anyText("the postgres:// URL of the linked database"),
    secret: true,
  },
  PGPASSWORD: {
    words: "Password of a `postgres://` `KV_PATH` that has none.",
    shape: anyText("the password of the role in KV_PATH"),
    secret: true,
  },
  KV_CONNECTIONS: {
    words: "Connections of each process to Postgres, besides one that listens.",
    shape: wholeNumber("a number of connections", 1000),
    default: 10,
  },
  DENO_KV_ACCESS_TOKEN: {
    words: "Access token of the denokv server in `KV_PATH`.",
    shape: anyText("the access token of the database that KV_PATH names"),
    secret: true,
  },
  ALLOWED_ORIGINS: {
    words: "Browser origins that may call; `*` for all. `BASE_URL` and this " +
      "machine's pages always may.",
    shape: listOf("origins (scheme, host and port only), or *", parseOrigin),
    default: [],
    unset: "no others",
    example: "https://app.example.com",
  },
  LOG_LEVEL: {
    words: "`debug`, `info`, `warning`, `error` or `off`.",
    shape: oneOf(LOG_LEVELS),
    default: "info",
  },
  AUDIT_LOG: {
    words: "Logs sign-ins and changes by people and operators at every " +
      "`LOG_LEVEL` but `off`.",
    shape: BOOLEAN_SHAPE,
    default: true,
  },
  MCP_TITLE: {
    words: "The name that people see.",
    shape: anyText("a title"),
    unset: "the title in `server.ts`",
    example: "Tools (staging)",
  },
});
