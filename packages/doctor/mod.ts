/**
 * `deno task ts doctor [URL] [--store claude,chatgpt] [--token …]`: examines a
 * running server from outside, as its clients would, and with `--store` as the
 * reviewers of directories would. Exits 1 when something has to be fixed.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { type Store, STORES } from "./check.ts";
import { examine, type ExamineOptions } from "./examine.ts";
import { printReport } from "./finding.ts";
import type { Browser, Connection } from "./site.ts";
import { isLoopback, parseTypedUrl } from "../../src/core/net/url.ts";
import { serverAddress } from "../call/command_line.ts";
import { notUnderstood } from "../call/failure.ts";
import { listen } from "../call/receiver.ts";
import { print } from "../call/standard_output.ts";

const USAGE = "deno task ts doctor http://127.0.0.1:3000 " +
  `[--store ${STORES.join(",")}] [--token TOKEN]`;

type Arguments = ExamineOptions & { url: string };

/**
 * Parses the command line. Without an address, the server that the environment
 * names is examined, with `TOOL_SERVER_TOKEN`.
 *
 * @throws {Error} that says what is wrong
 */
export function parseArguments(args: string[]): Arguments {
  const { values: { store, token }, positionals: [url, ...others] } = parseArgs(
    {
      args,
      options: { store: { type: "string" }, token: { type: "string" } },
      allowPositionals: true,
    },
  );
  if (others.length > 0) {
    throw new Error(`Got "${others[0]}" besides ${url}, wants one address`);
  }
  if (token === "") throw new Error("--token needs a value");
  const stores = store === undefined ? [] : parseStores(store);
  if (url !== undefined) return { url, token, stores };
  const here = serverAddress(undefined, (name) => Deno.env.get(name));
  return {
    url: here.url.replace(/\/mcp$/, ""),
    token: token ?? here.token,
    stores,
    namesNoProxy: !Deno.env.get("TRUSTED_PROXIES"),
  };
}

/** @throws {Error} */
function parseStores(text: string): Store[] {
  return text.split(",").map((name) => {
    const store = STORES.find((it) => it === name.trim().toLowerCase());
    if (store) return store;
    throw new Error(`--store: got "${name}", wants ${STORES.join(" or ")}`);
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

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  let options: Arguments;
  if (["--help", "-h"].includes(args[0])) {
    print(USAGE);
    return 0;
  }
  try {
    options = parseArguments([...args]);
    const parsed = parseTypedUrl(options.url);
    options.url = parsed.href;
    if (options.token && parsed.protocol === "http:" && !isLoopback(parsed)) {
      throw new Error("A token is sent only over https, or to this machine");
    }
  } catch (error) {
    const { message } = error as Error;
    const [, unknown] = /^Unknown option '(.*?)'/s.exec(message) ?? [];
    console.error(
      unknown ? notUnderstood(unknown, USAGE) : `${message}. Try: ${USAGE}`,
    );
    return 2;
  }
  const { url } = options;
  print(`Examining ${url}\n`);
  await using listener = listen();
  const browser: Browser = {
    redirectUri: listener.redirectUri,
    show: (address) => print(`\nSign in here: ${address}\n`),
    response: (state) => listener.response(state),
  };
  const findings = await Array.fromAsync(
    examine(url, {
      ...options,
      browser,
      // The limits are those of a proxy. A server behind one has https, even on
      // this machine.
      connect: isLoopback(new URL(url)) && url.startsWith("http:")
        ? undefined
        : connect,
    }),
  );
  print(printReport(findings));
  return findings.some(({ result }) => result === "failed") ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
