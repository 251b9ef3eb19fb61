/**
 * The credentials that a client needs under each strategy.
 *
 * @module
 */
import type { AuthorizationRequest } from "../src/core/oauth/authorization_request.ts";
import { extendGrant } from "../src/core/oauth/grant.ts";
import { DEFAULT_LIFETIMES } from "../src/core/oauth/lifetimes.ts";
import { openGrant } from "../src/core/oauth/new_grant.ts";
import type { IssuedTokens } from "../src/core/oauth/refresh_token.ts";
import { issueTokens } from "../src/core/store/grants.ts";
import { Database } from "../src/core/kv/database.ts";
import { checkedKv } from "../src/core/kv/layout.ts";
import { now } from "../src/core/clock.ts";

/** `AUTH_STRATEGY` of a column. */
export type Login = "none" | "bearer" | "oauth";

/** A server's settings, and the credentials that fit them. */
interface Prepared {
  environment: Record<string, string>;
  /** The value of the `Authorization` header. */
  authorization?: string;
}

/** Prepares a strategy before the server starts. */
export async function prepareLogin(
  login: Login,
  { baseUrl, kvPath }: { baseUrl: string; kvPath: string },
): Promise<Prepared> {
  const environment = {
    AUTH_STRATEGY: login,
    BASE_URL: baseUrl,
    // One caller makes all the calls.
    CALLS_PER_MINUTE: "0",
  };
  switch (login) {
    case "none":
      return { environment };
    case "bearer": {
      const token = crypto.randomUUID();
      return {
        environment: { ...environment, BEARER_TOKEN: token },
        authorization: `Bearer ${token}`,
      };
    }
    case "oauth": {
      using kv = await Deno.openKv(kvPath);
      const { accessToken } = await saveGrant(kv, baseUrl);
      return {
        environment: { ...environment, OAUTH_PROVIDER: "dev" },
        authorization: `Bearer ${accessToken}`,
      };
    }
  }
}

/** A client ID as this server gives them: a name, and what is sealed. */
const CLIENT_ID = `${"b".repeat(22)}.bench`;

/** Saves the records of a person's sign-in, and gives the tokens. */
export async function saveGrant(
  kv: Deno.Kv,
  baseUrl: string,
  clientId = CLIENT_ID,
): Promise<IssuedTokens> {
  const { tokens, write } = await openSignIn({
    clientId,
    redirectUri: "http://127.0.0.1/callback",
    scopes: [],
    issuer: baseUrl,
    provider: "dev",
    identity: { subject: "bench" },
    clientName: "bench",
    now: now(),
  });
  await new Database(checkedKv(kv)).commit(write);
  return tokens;
}

/** Makes the grant of a person who has signed in, its key and its tokens. */
export async function openSignIn(
  { clientId, redirectUri, scopes, now, ...signIn }:
    & Pick<AuthorizationRequest, "clientId" | "redirectUri" | "scopes">
    & Omit<Parameters<typeof openGrant>[1], "scopes" | "lifetimes">,
) {
  const lifetimes = DEFAULT_LIFETIMES;
  const resource = `${signIn.issuer}/mcp`;
  const opened = openGrant(
    { clientId, redirectUri, scopes, resource, codeChallenge: "" },
    { ...signIn, lifetimes, now },
  );
  const grant = extendGrant(opened, { refreshable: true, now, lifetimes });
  const dataKey = crypto.getRandomValues(new Uint8Array(32));
  const issued = await issueTokens(grant, { dataKey, scopes, now, lifetimes });
  return { grant, dataKey, ...issued };
}
