/**
 * OAuth records: a client, its request, and the grant of a person.
 *
 * @module
 */
import { randomId } from "../../src/crypto/crypto.ts";
import { type Client, registerClient } from "../../src/auth/rules/client.ts";
import type { AuthorizationRequest } from "../../src/auth/rules/authorization_request.ts";
import { type Grant, openGrant } from "../../src/auth/rules/grant.ts";
import { codeChallenge } from "../../src/auth/rules/pkce.ts";
import { Database } from "../../src/store/database.ts";
import { authorizationRequestStore } from "../../src/store/authorization_requests.ts";
import { now } from "../../src/clock.ts";

export const ISSUER = "https://tools.example.com";
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

export function newClient(body: Record<string, unknown> = {}): Client {
  return registerClient({
    redirect_uris: ["https://app.example.com/cb"],
    client_name: "App",
    ...body,
  }, now()).client;
}

export function requestOf(client: Client): AuthorizationRequest {
  return {
    clientId: client.clientId,
    redirectUri: client.metadata.redirect_uris[0],
    state: "client state",
    scopes: ["mail:read"],
    resource: `${ISSUER}/mcp`,
    codeChallenge: codeChallenge(VERIFIER),
  };
}

/** Signs someone in for a client and gives the code. */
export async function signIn(
  kv: Deno.Kv,
  { client = newClient(), subject = "42", upstreamTokens = "{}", time = now() }:
    {
      client?: Client;
      subject?: string;
      upstreamTokens?: string;
      time?: number;
    } = {},
): Promise<{ code: string; grant: Grant; client: Client }> {
  const requests = authorizationRequestStore(new Database(kv));
  const browser = randomId();
  const request = requestOf(client);
  const handle = await requests.save(browser, { request, clientName: "App" });
  await requests.approve(
    (await requests.find(handle, browser))!,
    { consented: request.scopes, provider: "dev" },
  );
  const leased = await requests.lease((await requests.find(handle, browser))!);
  const grant = openGrant(request, {
    issuer: ISSUER,
    provider: "dev",
    identity: { subject, name: "Jo" },
    clientName: "App",
    now: time,
  });
  const code = await requests.complete(leased!, { grant, upstreamTokens });
  return { code: code!, grant, client };
}
