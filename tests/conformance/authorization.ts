/**
 * Runs the official conformance suite against the authorization server, which
 * is three processes on one database that take turns. The development provider
 * signs in, and a scripted browser does what the person would.
 *
 *     deno task test authorization
 *
 * @module
 */
import { Browser } from "../kit/browser.ts";
import { freePort } from "../kit/port.ts";
import { startServerProcess } from "../kit/server_process.ts";
import { startProxy } from "./proxy.ts";

/** Pinned, as in `suite.ts`. */
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";

async function register(url: string, redirectUri: string): Promise<string> {
  const response = await fetch(`${url}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [redirectUri] }),
  });
  return (await response.json()).client_id;
}

/** Approves, signs in, and lets the browser arrive at the suite's address. */
async function signIn(authorizationUrl: string): Promise<void> {
  const browser = new Browser(() => (request) => fetch(request));
  const consent = await browser.open(authorizationUrl);
  const page = await browser.press(consent, "decision", "approve");
  await browser.press(page, "name", "Ada Lovelace");
}

async function runSuite(url: string): Promise<boolean> {
  const port = freePort();
  const clientId = await register(url, `http://127.0.0.1:${port}/callback`);
  const suite = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--allow-all", "--no-config", "--no-lock"],
      ...[SUITE, "authorization", "--url", url, "--resource", `${url}/mcp`],
      ...["--client-id", clientId, "--port", String(port)],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let printed = "";
  let signingIn: Promise<void> | undefined;
  for await (const chunk of suite.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    const asked = /^http\S+\/authorize\?\S+$/m.exec(printed);
    if (asked) signingIn ??= signIn(asked[0]);
  }
  await signingIn;
  console.log(printed.slice(printed.indexOf("=== SUMMARY")));
  return (await suite.status).success && !printed.includes("WARNING");
}

async function main(): Promise<boolean> {
  const directory = await Deno.makeTempDir({ prefix: "tool-server-" });
  try {
    const targets: string[] = [];
    await using proxy = startProxy(targets);
    const options = {
      kvPath: Deno.env.get("KV_PATH") ?? `${directory}/authorization.db`,
      env: {
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "dev",
        BASE_URL: proxy.url,
      },
    };
    await using _first = await startOwn(options, targets);
    await using _second = await startOwn(options, targets);
    await using _third = await startOwn(options, targets);
    return await runSuite(proxy.url);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function startOwn(
  { kvPath, env }: { kvPath: string; env: Record<string, string> },
  targets: string[],
): Promise<AsyncDisposable> {
  const port = freePort();
  targets.push(`http://127.0.0.1:${port}`);
  return await startServerProcess({
    kvPath,
    env: { ...env, PORT: String(port) },
  });
}

if (import.meta.main) Deno.exit(await main() ? 0 : 1);
