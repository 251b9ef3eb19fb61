/**
 * The command line: its options, and the help text for them.
 *
 * @module
 */
import type { parseArgs } from "node:util";
import { LOGGING_LEVELS } from "../../src/core/protocol/request_meta.ts";
import { parseTypedUrl } from "../../src/core/net/url.ts";
import type { Revision } from "../client/mod.ts";
import { usageFailure } from "./failure.ts";
import { parseOptions } from "./program.ts";

export const HELP = `Calls the tools of an MCP server.

  call NAME key=value …     call a tool; key:=json gives JSON
  call NAME '{"key": 1}'    give all arguments as JSON; - reads them from stdin
  call URI                  read a resource
  call --prompt NAME key=…  get a prompt
  call --task ID            wait for a task that a call became, and get its result
  call --list [--all]       list tools; with --all resources and prompts too
  call --logout             forget the sign-in at this server, and revoke it

Options:
  --url URL           the server; by default BASE_URL, or this machine's at
                      HOST and PORT, as the server reads them from .env
  --json              print results as JSON
  --out FILE          save an image, a sound or another file there
  --token TOKEN       a personal token; without it, people sign in by a browser.
                      TOOL_SERVER_TOKEN is one for the server of .env
  --header NAME:TEXT  a header of every request, such as x-api-key:…
  --client-id ID      a client ID that the server knows, or the address of a
                      metadata document; by default the command registers
  --scope SCOPES      scopes to ask for, separated by spaces
  --no-browser        print the address of a sign-in, and open no browser
  --revision DATE     2025-11-25 or 2026-07-28; by default the latest that works
  --log LEVEL         the least severe log messages to show; info by default

Exit codes: 0 done, 1 the tool failed, 2 the command line is wrong, 3 the server
cannot be reached or refuses, a task failed or was cancelled, or the result
cannot be printed, 4 not signed in or not allowed, 5 a question is unanswered
where standard input ends, 130 Ctrl+C.`;

const OPTIONS = {
  list: { type: "boolean" },
  all: { type: "boolean" },
  prompt: { type: "boolean" },
  task: { type: "string" },
  logout: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  "no-browser": { type: "boolean" },
  url: { type: "string" },
  out: { type: "string" },
  token: { type: "string" },
  header: { type: "string", multiple: true },
  "client-id": { type: "string" },
  scope: { type: "string" },
  revision: { type: "string" },
  log: { type: "string" },
} as const;
type Values = ReturnType<
  typeof parseArgs<{ options: typeof OPTIONS }>
>["values"];

/** A parsed command line, with its options. */
export interface CommandLine
  extends Pick<Values, "all" | "json" | "url" | "out" | "token" | "scope"> {
  verb: "call" | "list" | "prompt" | "task" | "logout" | "help";
  /** The name of a tool or a prompt, the URI of a resource, or a task's ID. */
  target: string;
  /** The other words: `key=value`, JSON, or `-`. */
  words: string[];
  browser: boolean;
  headers: Record<string, string>;
  clientId?: string;
  revision?: Revision;
  log: string;
}

const REVISIONS: readonly Revision[] = ["2025-11-25", "2026-07-28"];

export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals: words } = parseOptions(args, OPTIONS);
  const verb = verbOf(values);
  const target = verb === "call" || verb === "prompt"
    ? words.shift()
    : values.task ?? "";
  if (target === undefined) {
    throw usageFailure(
      verb === "prompt" ? "Name a prompt" : "Name a tool, or ask for --list",
    );
  }
  const takesWords = verb === "call" || verb === "prompt" || verb === "help";
  if (!takesWords && words.length > 0) {
    throw usageFailure(
      `Got "${words.join(" ")}", wants nothing more with --${verb}`,
    );
  }
  const revision = oneOf("--revision", values.revision, REVISIONS);
  if (verb === "task" && revision === "2025-11-25") {
    throw usageFailure(`--revision ${revision} has no tasks for --task`);
  }
  return {
    ...values,
    verb,
    target,
    words,
    browser: !values["no-browser"],
    headers: Object.fromEntries(values.header?.map(parseHeader) ?? []),
    clientId: values["client-id"],
    revision,
    log: oneOf("--log", values.log, LOGGING_LEVELS) ?? "info",
  };
}

function parseHeader(given: string): [string, string] {
  const [, name, text] = /^([\w-]+)\s*:\s*(.*)$/.exec(given) ?? [];
  if (!name) throw usageFailure("--header wants NAME:TEXT");
  return [name.toLowerCase(), text];
}

function verbOf(values: Values): CommandLine["verb"] {
  const verbs = (["help", "list", "prompt", "task", "logout"] as const)
    .filter((it) => values[it]);
  if (values.help || verbs.length < 2) return verbs[0] ?? "call";
  throw usageFailure(`Choose one of --${verbs.join(", --")}`);
}

function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  known: readonly T[],
): T | undefined {
  if (value === undefined) return undefined;
  const found = known.find((it) => it === value);
  if (found !== undefined) return found;
  throw usageFailure(
    `${name}: got "${value}", wants one of ${known.join(", ")}`,
  );
}

/**
 * Finds the server to call. A token from the environment is only for the server
 * that the environment names.
 *
 * @throws {Failure}
 */
export function serverAddress(
  given: string | undefined,
  env: (name: string) => string | undefined,
): { url: string; token?: string } {
  if (given !== undefined) return { url: parseUrl("--url", given) };
  const token = env("TOOL_SERVER_TOKEN") || undefined;
  const base = env("BASE_URL");
  if (base) {
    return {
      url: `${parseUrl("BASE_URL", base).replace(/\/mcp$/, "")}/mcp`,
      token,
    };
  }
  const host = env("HOST") || "127.0.0.1";
  const isEverywhere = host === "0.0.0.0" || host === "::";
  const name = isEverywhere ? "127.0.0.1" : host;
  const printed = name.includes(":") ? `[${name}]` : name;
  const url = `http://${printed}:${env("PORT") || "3000"}`;
  return { url: parseUrl("HOST and PORT", url), token };
}

/** Parses the URL of a server. Adds `/mcp` if it has no path. */
function parseUrl(name: string, text: string): string {
  let url: URL;
  try {
    url = parseTypedUrl(text);
  } catch {
    throw usageFailure(`${name}: got "${text}", wants an https address`);
  }
  if (url.pathname === "/") url.pathname = "/mcp";
  return url.href.replace(/\/$/, "");
}
