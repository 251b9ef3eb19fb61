import assert from "node:assert/strict";
import { createServer } from "../../src/server.ts";
import { IMPLEMENTATION } from "../kit/server.ts";
import { Browser } from "../kit/browser.ts";
import { SILENT } from "../kit/log.ts";

/** Makes a server that has no address of its own. */
function openServer(kv: Deno.Kv) {
  return createServer({
    log: SILENT,
    ...IMPLEMENTATION,
    kv,
    env: { AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev" },
  });
}

Deno.test("without BASE_URL people sign in at each name of their machine", async () => {
  using kv = await Deno.openKv(":memory:");
  await using server = openServer(kv);
  const send = (request: Request) => Promise.resolve(server.fetch(request));
  for (const name of ["127.0.0.1", "localhost", "[::1]"]) {
    const origin = `http://${name}:3000`;
    const metadata = await send(
      new Request(`${origin}/.well-known/oauth-protected-resource`),
    );
    const { resource, authorization_servers } = await metadata.json();
    assert.equal(resource, `${origin}/mcp`);
    assert.deepEqual(authorization_servers, [origin]);

    const refused = await send(
      new Request(`${origin}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      }),
    );
    await refused.body?.cancel();
    assert.equal(refused.status, 401);
    assert.ok(
      refused.headers.get("www-authenticate")!.includes(`"${origin}/.well`),
    );

    // The walk ends at any address outside of this name's origin.
    const browser = new Browser((url) =>
      url.origin === origin ? send : undefined
    );
    const signIn = await browser.open(`${origin}/account`);
    const provider = await browser.press(signIn, "none", "");
    const account = await browser.press(provider, "name", "someone");
    assert.equal(account.url, `${origin}/account`);
    assert.match(account.text, /Signed in as/);
  }
});

Deno.test("a name or a port that is not this server's makes no other server", async () => {
  using kv = await Deno.openKv(":memory:");
  await using server = openServer(kv);
  const path = "/.well-known/oauth-protected-resource";
  for (
    const origin of [
      "http://127.0.0.1:3000",
      "http://127.0.0.1:4000",
      "http://localhost:4000",
      "http://127.0.0.2:3000",
    ]
  ) {
    const response = await server.fetch(new Request(origin + path));
    const { resource } = await response.json();
    assert.equal(resource, "http://127.0.0.1:3000/mcp", origin);
  }
});
