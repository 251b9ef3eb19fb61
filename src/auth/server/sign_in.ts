/**
 * The sign-in of a server, as `AUTH_STRATEGY` says: its routes. The gate of
 * `/mcp` is loaded without them.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import type { AuthConfig } from "../../settings/auth.ts";
import { HttpError } from "../../errors.ts";
import type { Passing } from "../../http/client_address.ts";
import { CALLBACK_PATH } from "../provider/sign_in_providers.ts";
import {
  type AuthorizationServer,
  authorizationServer,
} from "./authorization_server.ts";
import type { AuthorizationServerOptions } from "../services.ts";
import {
  protectedResourceMetadataEndpoint,
  serverMetadataPaths,
} from "./well_known.ts";

/** The parts of the authorization server, if there is one. */
export interface SignInOptions
  extends Omit<AuthorizationServerOptions, "config"> {
  auth: AuthConfig;
}

export interface SignIn extends Partial<AuthorizationServer> {
  /** The routes; without an authorization server they say that there is none. */
  app: Hono<Passing>;
}

export function signIn({ auth, ...options }: SignInOptions): SignIn {
  const { baseUrl, serverTitle: title, scopes } = options;
  const { oauth, jwt } = auth;
  const server = oauth && authorizationServer({ ...options, config: oauth });
  const app = new Hono<Passing>();
  app.route("/", server?.app ?? closedServer(auth, baseUrl));
  const others = jwt?.issuers.map(({ issuer }) => issuer) ?? [];
  const metadata = server || jwt
    ? protectedResourceMetadataEndpoint({
      ...options,
      scopesSupported: scopes.usual,
      issuers: server ? [baseUrl, ...others] : others,
      title,
    })
    : refusal(404, auth);
  app.get("/.well-known/oauth-protected-resource", metadata);
  app.get("/.well-known/oauth-protected-resource/*", metadata);
  return { ...server, app };
}

/** The steps of an attempt to connect. */
export const STEPS: readonly string[] = [
  "POST /register",
  "GET /authorize",
  "POST /authorize",
  `GET ${CALLBACK_PATH}`,
  `GET ${CALLBACK_PATH}/:provider`,
  "POST /token",
  "POST /revoke",
];

/** Makes the routes of a server that is no authorization server. */
function closedServer(auth: AuthConfig, baseUrl: string): Hono<Passing> {
  const app = new Hono<Passing>();
  // Clients take a missing document for "no sign-in", and a 5xx for an outage.
  const missing = refusal(404, auth);
  for (const path of serverMetadataPaths(baseUrl)) app.get(path, missing);
  for (const endpoint of [...STEPS, "GET /account/*", "POST /account/*"]) {
    const [method, path] = endpoint.split(" ");
    app.on(method, path, refusal(501, auth));
  }
  return app;
}

/** Makes an endpoint that only says that no one signs in here. */
function refusal(status: 404 | 501, auth: AuthConfig): () => never {
  const strategies = Object.keys(auth).join(",") || "none";
  // For the log only.
  const cause = `AUTH_STRATEGY is ${strategies}. To let people sign in: ` +
    "AUTH_STRATEGY=oauth, OAUTH_PROVIDER, OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET";
  return () => {
    throw new HttpError(status, "This server has no sign-in", {}, { cause });
  };
}
