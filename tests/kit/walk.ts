/**
 * The whole flow of a client and its person, with a real OpenID provider.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Json } from "./message.ts";
import type { Answering } from "./server.ts";
import { Client } from "./client.ts";
import { signInAt } from "./open_id_provider.ts";
import { browserOf } from "./browser.ts";
import type { Processes } from "./processes.ts";

/** Registers a client, signs its person in, and returns its tokens. */
export async function connect(
  server: Answering,
  issuer: string,
  browser = browserOf(server, { issuer }),
  name?: string,
): Promise<{ client: Client; tokens: Json }> {
  const client = await Client.register(server);
  const page = await browser.open(client.authorizationUrl());
  const away = await browser.press(page, "decision", "approve");
  const back = await signInAt(issuer, browser, away, name);
  const { status, body } = await client.redeem(client.codeFrom(back));
  assert.equal(status, 200, JSON.stringify(body));
  return { client, tokens: body };
}

/** Runs the whole flow; `between` is called after each request of ours. */
export async function walk(
  processes: Processes,
  issuer: string,
  between: () => Promise<void> | void,
): Promise<void> {
  const server = {
    async fetch(path: string, init?: RequestInit) {
      const response = await processes.fetch(path, init);
      // Read completely before its process may die.
      const body = await response.arrayBuffer();
      await between();
      const { status, headers } = response;
      return new Response(body.byteLength > 0 ? body : null, {
        status,
        headers,
      });
    },
  };
  const refused = await server.fetch("/mcp", { method: "DELETE" });
  assert.equal(refused.status, 401);
  for (const document of ["protected-resource/mcp", "authorization-server"]) {
    const path = `/.well-known/oauth-${document}`;
    assert.equal((await server.fetch(path)).status, 200);
  }
  const { client, tokens } = await connect(server, issuer);
  const greeted = await client.call(tokens.access_token, "whoami");
  assert.equal(greeted.status, 200);
  assert.match(await greeted.text(), /jo of the tests/);
  const { body: fresh } = await client.refresh(tokens.refresh_token);
  assert.equal((await client.call(fresh.access_token, "whoami")).status, 200);
  const revoked = await server.fetch("/revoke", {
    method: "POST",
    body: new URLSearchParams({
      token: fresh.refresh_token,
      client_id: client.clientId,
    }),
  });
  assert.equal(revoked.status, 200);
  const { body: ended } = await client.refresh(fresh.refresh_token);
  assert.equal(ended.error, "invalid_grant");
}
