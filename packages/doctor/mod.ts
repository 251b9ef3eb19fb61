/**
 * `deno task doctor [URL] [--store claude,chatgpt] [--token …]`: examines a
 * running server from outside, as its clients would, and with `--store` as the
 * reviewers of directories would. Exits 1 when something has to be fixed.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { type Store, STORES } from "./check.ts";
import { examine, type ExamineOptions } from "./examine.ts";
import { printReport } from "./finding.ts";
import type { Browser } from "./site.ts";
import { isLoopback, parseTypedUrl } from "../../src/net/url.ts";
import { serverAddress } from "../call/command_line.ts";
import { listen } from "../call/receiver.ts";

const USAGE = "deno task doctor http://127.0.0.1:3000 " +
  `[--store ${STORES.join(",")}] [--token TOKEN]`;

type Arguments = ExamineOptions & { url?: string };

/** @throws {Error} with the fault of the command line */
function parseArguments(args: string[]): Arguments {
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
  return { url, token, stores: store === undefined ? [] : parseStores(store) };
}

/** @throws {Error} */
function parseStores(text: string): Store[] {
  return text.split(",").map((name) => {
    const store = STORES.find((it) => it === name.trim().toLowerCase());
    if (store) return store;
    throw new Error(`--store: got "${name}", wants ${STORES.join(" or ")}`);
  });
}

/** Gives the address of the server of the environment. @throws {Error} */
function addressHere(): string {
  const { url } = serverAddress(undefined, (name) => Deno.env.get(name));
  return url.replace(/\/mcp$/, "");
}

if (import.meta.main) {
  let url: string;
  let options: Arguments;
  if (["--help", "-h"].includes(Deno.args[0])) {
    console.log(USAGE);
    Deno.exit();
  }
  try {
    options = parseArguments(Deno.args);
    const { url: given = addressHere() } = options;
    const parsed = parseTypedUrl(given);
    if (
      options.token && parsed.protocol === "http:" && !isLoopback(parsed)
    ) {
      throw new Error("--token is sent over https alone, and to this machine");
    }
    url = parsed.href;
  } catch (error) {
    console.error(`${(error as Error).message}. Try: ${USAGE}`);
    Deno.exit(2);
  }
  console.log(`Examining ${url}\n`);
  await using listener = listen();
  const { signal } = new AbortController();
  const browser: Browser = {
    redirectUri: listener.redirectUri,
    show: (address) => console.log(`\nSign in here: ${address}\n`),
    response: (state) => listener.response(state, signal),
  };
  const findings = await Array.fromAsync(
    examine(url, { ...options, browser }),
  );
  console.log(printReport(findings));
  Deno.exit(findings.some(({ result }) => result === "failed") ? 1 : 0);
}
