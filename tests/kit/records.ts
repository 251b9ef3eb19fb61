/**
 * OAuth records: a client, its request, and the grant of a person.
 *
 * @module
 */
import { DEFAULT_LIFETIMES } from "../../src/core/oauth/lifetimes.ts";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { type Client, registerClient } from "../../src/core/oauth/client.ts";
import type { AuthorizationRequest } from "../../src/core/oauth/authorization_request.ts";
import {
  type FindEffectiveScopes,
  type Grant,
  identityRecheck,
} from "../../src/core/oauth/grant.ts";
import { openGrant } from "../../src/core/oauth/new_grant.ts";
import { codeChallenge } from "../../src/core/oauth/pkce.ts";
import { Parameters } from "../../src/core/oauth/parameters.ts";
import type { IssuedTokens } from "../../src/core/oauth/refresh_token.ts";
import { authorizationCodeGrant } from "../../src/core/auth/server/authorization_code_grant.ts";
import { refreshTokenGrant } from "../../src/core/auth/server/refresh_token_grant.ts";
import { grantStore, refreshTokenStore } from "../../src/core/store/grants.ts";
import { codeStore } from "../../src/core/store/codes.ts";
import { Database } from "../../src/core/kv/database.ts";
import { authorizationRequestStore } from "../../src/core/store/authorization_requests.ts";
import { now } from "../../src/core/clock.ts";

export const ISSUER = "https://tools.example.com";
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

export function newClient(body: Record<string, unknown> = {}): Client {
  return registerClient({
    redirect_uris: ["https://app.example.com/cb"],
    client_name: "App",
    ...body,
  }, now()).client;
}

/** Makes a client of a name; with a domain, it has a metadata document there. */
export function clientCalled(client_name: string, domain?: string): Client {
  return { ...newClient({ client_name }), domain };
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

/**
 * Redeems a code as `POST /token` does. By default all scopes of the grant are
 * effective.
 */
export function redeem(
  database: Database,
  {
    code,
    clientId,
    codeVerifier = VERIFIER,
    redirectUri,
    refreshable = true,
    effectiveScopes = (grant) => grant,
  }: {
    code: string;
    clientId: string;
    codeVerifier?: string;
    redirectUri?: string;
    refreshable?: boolean;
    effectiveScopes?: FindEffectiveScopes;
  },
): Promise<IssuedTokens> {
  const redeemCode = authorizationCodeGrant({
    lifetimes: DEFAULT_LIFETIMES,
    codes: codeStore(database, DEFAULT_LIFETIMES),
    grants: grantStore(database),
    effectiveScopes,
    clock: database.clock,
  });
  const client = newClient({
    grant_types: [
      "authorization_code",
      ...refreshable ? ["refresh_token"] : [],
    ],
  });
  const parameters = new Parameters(Object.entries({
    code,
    code_verifier: codeVerifier,
    redirect_uri: redirectUri ?? "",
  }));
  return redeemCode(parameters, { ...client, clientId });
}

/** Exchanges a refresh token as `POST /token` does, where the provider is fine. */
export function refresh(
  database: Database,
  refreshToken: string,
  clientId: string,
  effectiveScopes: FindEffectiveScopes = (grant, scopes = grant.scopes) => ({
    scopes,
  }),
): Promise<IssuedTokens> {
  const exchange = refreshTokenGrant({
    lifetimes: DEFAULT_LIFETIMES,
    baseUrl: ISSUER,
    refreshTokens: refreshTokenStore(database, DEFAULT_LIFETIMES),
    grants: grantStore(database),
    providerTokens: {
      identify: () => Promise.resolve(undefined),
      refreshIfDue: () => Promise.resolve(false),
    },
    identityRecheck: identityRecheck({
      allowedUsers: [],
      blocked: [],
      admins: [],
    }),
    effectiveScopes,
    clock: database.clock,
  });
  const parameters = new Parameters([["refresh_token", refreshToken]]);
  return exchange(parameters, { clientId });
}

/** Signs someone in for a client and returns the code. */
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
  const handle = await requests.save(browser, {
    request,
    clientName: "App",
    named: request.scopes,
  });
  await requests.approve(
    (await requests.find(handle, browser))!,
    { consented: request.scopes, provider: "dev" },
  );
  const leased = await requests.lease((await requests.find(handle, browser))!);
  const grant = openGrant(request, {
    lifetimes: DEFAULT_LIFETIMES,
    issuer: ISSUER,
    provider: "dev",
    identity: { subject, name: "Jo" },
    clientName: "App",
    now: time,
  });
  const code = await requests.complete(leased!, { grant, upstreamTokens });
  return { code: code!, grant, client };
}
