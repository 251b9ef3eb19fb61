/**
 * The two commands of the README, as a stranger types them: a clean clone, an
 * empty home, no other step. Everything it needs comes from the package
 * registry.
 *
 * @module
 */
import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { Browser } from "../kit/browser.ts";
import { RememberedSignIn } from "../kit/remembered_sign_in.ts";
import { Clone } from "./clone.ts";
import { callHealth, openSession } from "../kit/process.ts";

/** The ways to run Deno: it is installed, or there is only Node. */
const WAYS: [string, string[]][] = [
  ["deno", ["deno"]],
  ["npx", ["npx", "-y", "deno"]],
];

for (const [name, way] of WAYS) {
  Deno.test(`${name} task dev serves a clean clone with an empty home`, async () => {
    await using clone = await Clone.make();
    await using server = clone.run([...way, "task", "dev"], { terminal: true });
    const url = await server.url();
    await server.prints(/claude mcp add/);
    assert.equal(await callHealth(url, await openSession(url)), 200);
    const restarted = server.prints(/listens on[\s\S]*listens on/);
    await Deno.writeTextFile(`${clone.path}/src/tools/mod.ts`, "\n", {
      append: true,
    });
    await restarted;
    server.kill("SIGTERM");
    await server.end();
    // Deno's own warnings about a missing .env and permission sets: with
    // --quiet the watcher would not report that it waits for a change either.
    const output = server.output.replaceAll(
      /^.*(experimental feature|`--env-file` flag).*$/gm,
      "",
    );
    assert.doesNotMatch(output, /Deno requests|warning/i);
  });

  Deno.test(`${name} task start keeps a session over kill -9, and stops on a signal`, async () => {
    await using clone = await Clone.make();
    let session;
    {
      await using first = clone.run([...way, "task", "start"]);
      const url = await first.url();
      session = await openSession(url);
      assert.equal(await callHealth(url, session), 200);
      first.kill("SIGKILL");
    }
    await using second = clone.run([...way, "task", "start"]);
    const url = await second.url();
    assert.equal(await callHealth(url, session), 200);
    second.kill("SIGTERM");
    await second.prints(/Stopping/);
    await second.end();
  });
}

Deno.test("deno task start:bundle serves what deno task bundle made", async () => {
  await using clone = await Clone.make();
  await using bundling = clone.run(["deno", "task", "bundle"]);
  assert.equal(await bundling.end(), 0, bundling.output);
  await using server = clone.run(["deno", "task", "start:bundle"]);
  const url = await server.url();
  assert.equal(await callHealth(url, await openSession(url)), 200);
  const page = await fetch(url, { headers: { accept: "text/html" } });
  assert.match(await page.text(), /Tool Server/);
  server.kill("SIGTERM");
  await server.end();
});

Deno.test("deno task dev shows a type error, and goes on serving", async () => {
  await using clone = await Clone.make();
  await using server = clone.run(["deno", "task", "dev"], { terminal: true });
  await server.url();
  await Deno.writeTextFile(
    `${clone.path}/src/tools/mod.ts`,
    "export const seven: string = 7;\n",
    { append: true },
  );
  await server.prints(/TS2322[\s\S]*tools\/mod\.ts/);
  await server.prints(/listens on[\s\S]*listens on/);
  const url = server.output.match(/http:\/\/[\w.]+:\d+(?=\/mcp)/g)!.at(-1)!;
  assert.equal(await callHealth(url, await openSession(url)), 200);
});

Deno.test("deno task dev:oauth signs a person in through the SDK's client", async () => {
  await using clone = await Clone.make();
  await using server = clone.run(["deno", "task", "dev:oauth"], {
    env: { KV_PATH: ":memory:" },
  });
  const url = await server.url();
  await callAs(await signIn(url), url);
});

Deno.test("a sign-in outlives a restart of deno task dev:oauth", async () => {
  await using clone = await Clone.make();
  // With another port it would be another server for a client.
  const { port } = freeAddress();
  await using server = clone.run(["deno", "task", "dev:oauth"], {
    env: { PORT: String(port) },
  });
  const url = await server.url();
  const person = await signIn(url);
  const restarted = server.prints(/"Listening"[\s\S]*"Listening"/);
  await Deno.writeTextFile(`${clone.path}/src/tools/mod.ts`, "\n", {
    append: true,
  });
  await restarted;
  await callAs(person, url);
});

function freeAddress(): Deno.NetAddr {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr;
}

/** A person signs in with the development provider. */
async function signIn(url: string): Promise<RememberedSignIn> {
  const authProvider = new RememberedSignIn();
  const refused = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    authProvider,
  });
  const newcomer = new Client({ name: "newcomer", version: "1" });
  await assert.rejects(newcomer.connect(refused), /unauthorized/i);

  const browser = new Browser(({ origin }) =>
    origin === url ? fetch : undefined
  );
  const consent = await browser.open(authProvider.sentTo!);
  const page = await browser.press(consent, "decision", "approve");
  const { url: answer } = await browser.press(page, "name", "Ada Lovelace");
  await refused.finishAuth(new URL(answer).searchParams);
  return authProvider;
}

/**
 * Calls a tool with the tokens of a sign-in; it must not ask for another one.
 */
async function callAs(
  authProvider: RememberedSignIn,
  url: string,
): Promise<void> {
  const client = new Client({ name: "newcomer", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider }),
  );
  const { structuredContent } = await client.callTool({ name: "health" });
  assert.equal((structuredContent as { status: string }).status, "ok");
  await client.close();
}
