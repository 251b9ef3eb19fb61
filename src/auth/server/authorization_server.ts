/**
 * The authorization server: an app of its own. Its access tokens are verified
 * by `doors/oauth_door.ts`, which needs none of this.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { accountRoutes } from "../account/account.ts";
import { assertionVerifier } from "../provider/assertion_issuers.ts";
import { usualClaims } from "../provider/memberships.ts";
import { CALLBACK_PATH } from "../provider/sign_in_providers.ts";
import type { ProviderTokens } from "../provider/provider_tokens.ts";
import type { TrustedIssuer } from "../rules/identity_assertion.ts";
import { authorizationServerMetadata } from "../rules/server_metadata.ts";
import { issuerId } from "../rules/subject.ts";
import type { ProviderApplication } from "../../settings/application.ts";
import type { OAuthConfig } from "../../settings/oauth.ts";
import { isMachine } from "../rules/configured_client.ts";
import { attemptRecorder } from "./attempt_recorder.ts";
import { authorizeEndpoint } from "./authorize.ts";
import { consentEndpoint } from "./consent.ts";
import { serverMetadataPaths } from "./well_known.ts";
import { providerCallbackEndpoint } from "./provider_callback.ts";
import type { Passing } from "../../http/client_address.ts";
import { rateLimit } from "../../http/rate_limit.ts";
import { registerEndpoint } from "./register.ts";
import { revokeEndpoint } from "./revoke.ts";
import { tokenEndpoint } from "./token.ts";
import {
  type AuthorizationServerOptions,
  authorizationServices,
} from "../services.ts";

/** The authorization server of `AUTH_STRATEGY=oauth`. */
export interface AuthorizationServer {
  /** Its endpoints and pages. */
  app: Hono<Passing>;
  /** Makes the provider's API in the name of the person behind a grant. */
  upstream: ProviderTokens["upstream"];
  /** Ends background work, after the last request. */
  close(): Promise<void>;
}

/** Finds our application at the provider whose people an issuer vouches for. */
function applicationOf(
  { providers }: OAuthConfig,
  by: TrustedIssuer,
): Pick<ProviderApplication, "groupsClaim"> {
  const [only, ...others] = providers;
  const found = others.length === 0
    ? only
    : providers.find(({ id }) => id === issuerId(by));
  return found && found.config.provider !== "dev" ? found.config : {};
}

/** Makes the authorization server of `AUTH_STRATEGY=oauth`. */
export function authorizationServer(
  options: AuthorizationServerOptions,
): AuthorizationServer {
  const services = authorizationServices(options);
  const { config, baseUrl, clock } = services;
  const { assertionIssuers, metadataDocuments } = config;
  const verifyAssertion = assertionIssuers.length === 0
    ? undefined
    : assertionVerifier(assertionIssuers, {
      memberships: (by) => usualClaims(applicationOf(config, by)),
      clock,
    });
  const limit = (endpoint: string, perSecond: number) => {
    const { check, waive } = rateLimit(services, endpoint, perSecond);
    return { ...services, checkRate: check, waiveRate: waive };
  };
  const authorizing = limit("authorize", 10);
  // A failure is cheap here, and others at the same address must refresh.
  const issuing = limit("token", 200);
  const returning = limit("callback", 10);
  const account = accountRoutes(limit("account", 10));
  const finishSignIn = providerCallbackEndpoint(returning);
  const recorded = attemptRecorder(services);

  const app = new Hono<Passing>();
  const metadata = authorizationServerMetadata({
    baseUrl,
    scopesSupported: options.scopes.supported,
    metadataDocuments: metadataDocuments.enabled,
    machines: config.clients.some(isMachine),
    assertions: verifyAssertion !== undefined,
    registration: config.policy.registration,
    about: options.about,
  });
  for (const path of serverMetadataPaths(baseUrl)) {
    app.get(path, (c) => c.json(metadata));
  }
  app.post("/register", recorded, registerEndpoint(limit("register", 2)));
  app.get("/authorize", recorded, authorizeEndpoint(authorizing));
  app.post("/authorize", recorded, consentEndpoint(authorizing));
  const comeBack = async (c: Context) => {
    await returning.checkRate(c);
    if (!account.isReturning(c)) return await finishSignIn(c);
    const response = await account.finish(c);
    returning.waiveRate(c);
    return response;
  };
  // The only provider is at the first; each of several has its own.
  app.get(CALLBACK_PATH, recorded, comeBack);
  app.get(`${CALLBACK_PATH}/:provider`, recorded, comeBack);
  app.post("/token", recorded, tokenEndpoint({ ...issuing, verifyAssertion }));
  app.post("/revoke", revokeEndpoint(issuing));
  app.route("/", account.app);

  return {
    app,
    upstream: services.providerTokens.upstream,
    close: async () => {
      services.people.close();
      await services.attempts.close();
    },
  };
}
