/**
 * `deno task ts doctor [URL] [--store claude,chatgpt] [--token …]`: examines a
 * running server from outside, as its clients would, and with `--store` as the
 * reviewers of directories would. Exits 1 if something has to be fixed.
 *
 * @module
 */
import { type Store, STORES } from "./check.ts";
import { examine, type ExamineOptions } from "./examine.ts";
import { printReport, Skipped } from "./finding.ts";
import type { Browser, Connection } from "./site.ts";
import { isLoopback, parseTypedUrl } from "../../src/core/net/url.ts";
import { serverAddress } from "../call/command_line.ts";
import { Exit, usageFailure } from "../call/failure.ts";
import { parseOptions, runProgram } from "../call/program.ts";
import { listenForRedirect, NO_BROWSER } from "../call/receiver.ts";
import { print } from "../call/standard_output.ts";
import { Terminal } from "../call/terminal.ts";

const USAGE = "Usage: deno task ts doctor http://127.0.0.1:3000 " +
  `[--store ${STORES.join(",")}] [--token TOKEN | --no-browser]`;

type Arguments = ExamineOptions & { url: string; hasPerson: boolean };

/**
 * Parses the command line. Without a URL, the server that the environment names
 * is examined, with `TOOL_SERVER_TOKEN`.
 *
 * @throws {UsageFailure}
 */
export function parseArguments(args: readonly string[]): Arguments {
  const {
    values: { store, token, "no-browser": waits },
    positionals: [url, ...others],
  } = parseOptions(args, {
    store: { type: "string" },
    token: { type: "string" },
    "no-browser": { type: "boolean" },
  });
  if (others.length > 0) {
    throw usageFailure(`Got "${others[0]}" besides ${url}, wants one address`);
  }
  const stores = store === undefined ? [] : parseStores(store);
  const hasPerson = waits ?? new Terminal().hasPerson;
  if (url !== undefined) return { url, token, stores, hasPerson };
  const here = serverAddress(undefined, (name) => Deno.env.get(name));
  return {
    url: here.url.replace(/\/mcp$/, ""),
    token: token ?? here.token,
    stores,
    hasPerson,
    namesNoProxy: !Deno.env.get("TRUSTED_PROXIES"),
  };
}

/** @throws {UsageFailure} */
function parseStores(text: string): Store[] {
  return text.split(",").map((name) => {
    const store = STORES.find((it) => it === name.trim().toLowerCase());
    if (store) return store;
    throw usageFailure(`--store: got "${name}", wants ${STORES.join(" or ")}`);
  });
}

/** Opens a connection for requests of HTTP/1.1. */
function connect({ protocol, hostname, port }: URL): Promise<Connection> {
  const host = hostname.replace(/^\[|\]$/g, "");
  return protocol === "http:"
    ? Deno.connect({ hostname: host, port: Number(port || 80) })
    : Deno.connectTls({
      hostname: host,
      port: Number(port || 443),
      alpnProtocols: ["http/1.1"],
    });
}

/** Parses the URL of the server. @throws {UsageFailure} */
function parseAddress({ url, token }: Arguments): string {
  let parsed: URL;
  try {
    parsed = parseTypedUrl(url);
  } catch (error) {
    throw usageFailure((error as Error).message);
  }
  if (token && parsed.protocol === "http:" && !isLoopback(parsed)) {
    throw usageFailure("A token is sent only over https, or to this machine");
  }
  return parsed.href;
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runProgram(args, USAGE, async () => {
    const options = parseArguments(args);
    const url = parseAddress(options);
    print(`Examining ${url}\n`);
    await using listener = listenForRedirect();
    let isRefused = false;
    const browser: Browser = {
      redirectUri: listener.redirectUri,
      show(address) {
        print(`\nSign in here: ${address}\n`);
        isRefused = !options.hasPerson;
        if (isRefused) throw new Skipped(NO_BROWSER);
      },
      response: (state) => listener.response(state),
    };
    const findings = await Array.fromAsync(
      examine(url, {
        ...options,
        browser,
        // Unfinished requests are ended by a proxy. A server on http of this
        // machine has none.
        connect: isLoopback(new URL(url)) && url.startsWith("http:")
          ? undefined
          : connect,
      }),
    );
    print(printReport(findings));
    if (findings.some(({ result }) => result === "failed")) return Exit.failed;
    return isRefused ? Exit.access : 0;
  });
}

if (import.meta.main) Deno.exit(await main(Deno.args));
