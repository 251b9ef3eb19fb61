/**
 * The strategies of `AUTH_STRATEGY`: their gates and endpoints.
 *
 * @module
 */
import type { Endpoint, SignIn, SignInEndpoints } from "./sign_in_endpoints.ts";
import type { AuthConfig } from "../../settings/auth.ts";
import { subjectIds } from "../../settings/oauth.ts";
import { HttpError } from "../../errors.ts";
import type { ProviderConfig } from "../../settings/application.ts";
import type { Provider } from "../provider/provider.ts";
import {
  authorizationServer,
  type AuthorizationServerOptions,
} from "./authorization_server.ts";
import { anonymousGate } from "../doors/anonymous_gate.ts";
import { gateOfDoors } from "../doors/doors.ts";
import { jwtGate } from "../doors/jwt_gate.ts";
import { staticDoors } from "../doors/static_gate.ts";
import { protectedResourceMetadataEndpoint } from "./well_known.ts";

/** The parts of the strategies. */
export interface SignInOptions
  extends Omit<AuthorizationServerOptions, "config" | "provider"> {
  auth: AuthConfig;
  /** Makes the provider; called only if people sign in. */
  provider(settings: ProviderConfig): Provider;
}

/** Makes the gate and the endpoints of the chosen strategies. */
export function signIn({ auth, provider, ...options }: SignInOptions): SignIn {
  const { baseUrl, serverTitle: title, database } = options;
  const { oauth, jwt } = auth;
  const server = oauth && authorizationServer({
    ...options,
    config: oauth,
    provider: provider(oauth.provider),
  });
  const closed = nobodySignsIn(auth);
  if (!server && !jwt) return { endpoints: closed };
  const others = jwt?.issuers.map(({ issuer }) => issuer) ?? [];
  const gate = gateOfDoors({
    oauth: server?.gate,
    jwt: jwt && jwtGate({
      ...jwt,
      baseUrl,
      otherIds: oauth && subjectIds(oauth),
      clock: database.clock,
    }),
    ...staticDoors(auth),
  });
  return {
    ...server,
    gate: auth.anonymous
      ? anonymousGate(gate, {
        keyHeader: auth.apiKey?.header,
        ceiling: options.permissions?.everyones,
      })
      : gate,
    endpoints: {
      ...closed,
      ...server?.endpoints,
      protectedResourceMetadata: protectedResourceMetadataEndpoint({
        ...options,
        scopesSupported: options.scopes.usual,
        issuers: server ? [baseUrl, ...others] : others,
        title,
      }),
    },
  };
}

/** Makes the endpoints of a server that is not an authorization server. */
function nobodySignsIn(auth: AuthConfig): SignInEndpoints {
  const strategies = Object.keys(auth).join(",") || "none";
  // For the log only.
  const cause = `AUTH_STRATEGY is ${strategies}. To let people sign in: ` +
    "AUTH_STRATEGY=oauth, OAUTH_PROVIDER, OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET";
  const refuse = (status: number): Endpoint => () => {
    throw new HttpError(status, "This server has no sign-in", {}, {
      cause,
    });
  };
  // Clients take a missing document for "no sign-in", and a 5xx for an outage.
  const notFound = refuse(404);
  const notImplemented = refuse(501);
  return {
    protectedResourceMetadata: notFound,
    authorizationServerMetadata: notFound,
    register: notImplemented,
    authorize: notImplemented,
    consent: notImplemented,
    providerCallback: notImplemented,
    token: notImplemented,
    revoke: notImplemented,
    account: notImplemented,
    accountSignIn: notImplemented,
    accountSignOut: notImplemented,
    accountEnd: notImplemented,
    accountPause: notImplemented,
    accountResume: notImplemented,
    accountNarrow: notImplemented,
    accountTokens: notImplemented,
  };
}
