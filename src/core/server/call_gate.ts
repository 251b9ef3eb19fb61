/**
 * Authenticates the callers of a server that people sign in to, or that accepts
 * JWTs of other issuers. The first call loads this module, without the routes
 * and pages of the sign-in, which are ten times as many modules.
 *
 * @module
 */
import { makeOnce } from "../cache.ts";
import type { Upstream } from "../caller.ts";
import type { ServiceTokens } from "../token_exchange.ts";
import { subjectIds } from "../settings/oauth.ts";
import { anonymousGate, type Gate } from "../auth/doors/gate.ts";
import { gateOfDoors, staticDoors } from "../auth/doors/doors.ts";
import { oauthDoor } from "../auth/doors/oauth_door.ts";
import type {
  GrantWithKey,
  PresentedJwt,
} from "../provider/provider_tokens.ts";
import { effectiveScopesBy } from "../oauth/grant.ts";
import { accessTokenStore } from "../store/access_tokens.ts";
import { blockedPeople } from "../store/blocks.ts";
import { grantStore } from "../store/grants.ts";
import type { App } from "./app.ts";
import type { ServerCore } from "./server_core.ts";

/**
 * Makes the authentication at one base URL, for the configured strategies.
 * @param load loads the sign-in, for tools that use a caller's tokens at the
 * provider
 */
export async function callGate(
  { plan, database, readAhead }: Pick<
    ServerCore,
    "plan" | "database" | "readAhead"
  >,
  baseUrl: string,
  load: () => Promise<Pick<App, "upstream" | "exchange">>,
): Promise<Gate> {
  const { config: { auth }, scopes, permissions } = plan;
  const { oauth, jwt } = auth;
  const { clock } = database;
  const grants = grantStore(database, oauth?.blocked);
  const { jwtDoor } = jwt ? await import("../auth/doors/jwt_door.ts") : {};
  const exchange = (key: GrantWithKey | PresentedJwt) =>
    lateExchange(async () => (await load()).exchange!(key));
  const gate = gateOfDoors({
    oauth: oauth && oauthDoor({
      baseUrl,
      providers: oauth.providers,
      scopes,
      effectiveScopes: effectiveScopesBy({ ...oauth, baseUrl, permissions }),
      accessTokens: accessTokenStore(database),
      grants,
      upstream: (key) => lateApi(async () => (await load()).upstream!(key)),
      exchange,
      lifetimes: oauth.lifetimes,
      readAhead,
      clock,
    }),
    jwt: jwt && jwtDoor?.({
      ...jwt,
      baseUrl,
      otherIds: oauth && subjectIds(oauth),
      blocked: oauth?.blocked,
      isKnownBlocked: grants.isKnownBlocked,
      isBlockedPerson: blockedPeople(database),
      exchange: (provider, accessToken) =>
        oauth?.providers.some(({ id }) => id === provider)
          ? exchange({ provider, accessToken })
          : undefined,
      readAhead,
      clock,
    }),
    ...staticDoors(auth),
  });
  return auth.anonymous
    ? anonymousGate(gate, {
      keyHeader: auth.apiKey?.header,
      ceiling: permissions?.everyones,
    })
    : gate;
}

/** Wraps the provider's API, so that it is loaded when a tool uses it. */
function lateApi(load: () => Promise<Upstream>): Upstream {
  return {
    token: async () => await (await load()).token(),
    fetch: async (input, init) => await (await load()).fetch(input, init),
  };
}

/**
 * Wraps the exchange of tokens, so that it is loaded once, when a tool uses it.
 */
function lateExchange(load: () => Promise<ServiceTokens>): ServiceTokens {
  const loadOnce = makeOnce(load);
  return { token: async (...of) => await (await loadOnce()).token(...of) };
}
