/**
 * `deno task doctor [URL] [--store claude,chatgpt] [--token …]`: examines a
 * running server from outside, as its clients would, and with `--store` as the
 * reviewers of directories would. Exits 1 when something has to be fixed.
 *
 * @module
 */
import { type Store, STORES } from "./checks_store.ts";
import { examine } from "./examine.ts";
import { printReport } from "./finding.ts";
import type { Receiver } from "./sign_in.ts";
import { isLoopback } from "../../src/net/loopback.ts";
import { parseTypedUrl } from "../../src/net/typed_url.ts";

const DEFAULT_URL = "http://127.0.0.1:3000";

const USAGE = `Try: deno task doctor ${DEFAULT_URL} ` +
  `[--store ${STORES.join(",")}] [--token TOKEN]`;

interface Arguments {
  url?: string;
  stores: Store[];
  token?: string;
}

/** @throws {Error} with the fault of the command line */
function parseArguments(args: readonly string[]): Arguments {
  const parsed: Arguments = { stores: [] };
  const rest = args.flatMap((arg) => {
    // --store=claude is --store claude.
    const [, name, value] = /^(--\w+)=(.*)$/s.exec(arg) ?? [];
    return name === undefined ? [arg] : [name, value];
  });
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    switch (arg) {
      case "--store":
        parsed.stores = parseStores(rest.shift() ?? "");
        break;
      case "--token":
        parsed.token = rest.shift();
        if (!parsed.token) throw new Error("--token needs a token");
        break;
      default:
        if (arg.startsWith("-") || parsed.url !== undefined) {
          throw new Error(`Not understood: ${arg}`);
        }
        parsed.url = arg;
    }
  }
  return parsed;
}

/** @throws {Error} */
function parseStores(text: string): Store[] {
  return text.split(",").map((name) => {
    const store = STORES.find((it) => it === name.trim().toLowerCase());
    if (store) return store;
    throw new Error(`Not a store: ${name}. Known are ${STORES.join(", ")}`);
  });
}

/** Waits on this machine for a person who signs in. */
function listenForPerson(): Receiver & AsyncDisposable {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/callback") return new Response("", { status: 404 });
      resolve(searchParams);
      return new Response("Thank you. Close this window.\n");
    },
  );
  return {
    redirectUri: `http://127.0.0.1:${server.addr.port}/callback`,
    show: (address) => console.log(`\nSign in here: ${address}\n`),
    response: promise,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

if (import.meta.main) {
  let url: string;
  let options: Arguments;
  try {
    options = parseArguments(Deno.args);
    const { url: given = Deno.env.get("BASE_URL") ?? DEFAULT_URL } = options;
    const parsed = parseTypedUrl(given);
    if (
      options.token && parsed.protocol === "http:" && !isLoopback(parsed)
    ) {
      throw new Error("--token is sent over https alone, and to this machine");
    }
    url = parsed.href;
  } catch (error) {
    console.error(`${(error as Error).message}. ${USAGE}`);
    Deno.exit(2);
  }
  console.log(`Examining ${url}\n`);
  await using receiver = listenForPerson();
  const findings = await Array.fromAsync(
    examine(url, { ...options, receiver }),
  );
  console.log(printReport(findings));
  Deno.exit(findings.some(({ result }) => result === "failed") ? 1 : 0);
}
