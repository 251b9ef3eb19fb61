/**
 * Builds the routes for signing in; without an authorization server, they
 * refuse. Also sets the rate limit of each endpoint, and records the outcome of
 * clients' attempts to connect. `/mcp` works without this module:
 * `doors/oauth_door.ts` verifies access tokens.
 *
 * @module
 */
import { type Context, Hono, type MiddlewareHandler } from "@hono/hono";
import {
  authorizationServerMetadata,
  protectedResourceMetadataEndpoint,
  serverMetadataPaths,
} from "./well_known.ts";
import { CALLBACK_PATH } from "../../settings/providers.ts";
import { authorizeEndpoint } from "./authorize.ts";
import { consentEndpoint } from "./consent.ts";
import { providerCallbackEndpoint } from "./provider_callback.ts";
import type { AppEnv } from "../../http/client_address.ts";
import { checkDocument } from "../../http/browser.ts";
import {
  type ListCredentials,
  rateLimit,
  waiveRate,
} from "../../http/rate_limit.ts";
import type { MakeGrantType } from "./grant_type.ts";
import { registerEndpoint } from "./register.ts";
import { revokeEndpoint } from "./revoke.ts";
import { presentedCredentials } from "./presented_credentials.ts";
import type { MakeSignedInPages, SignedInPages } from "./signed_in_pages.ts";
import { tokenEndpoint } from "./token.ts";
import {
  type AuthorizationServerOptions,
  authorizationServices,
  type AuthServices,
} from "../services.ts";
import type { AuthConfig } from "../../settings/auth.ts";
import { HttpError, OAuthError } from "../../errors.ts";
import { shortClientId } from "../../oauth/client.ts";
import type { ConnectAttempt } from "../../store/attempts.ts";

/**
 * Makes the middleware that records attempts to connect. An endpoint that has
 * found the client sets `client` to its name. The registration endpoint sets
 * `claimedName`, because anyone may register any name.
 */
export function attemptRecorder(
  { baseUrl, attempts }: Pick<AuthServices, "baseUrl" | "attempts">,
): MiddlewareHandler {
  function note(c: Context, end: Partial<ConnectAttempt>): void {
    const step = `${c.req.method} ${c.req.path}`;
    const known: string | undefined = c.get("client");
    const named = c.req.query("client_id");
    const client = known ?? c.get("claimedName") ??
      (named && shortClientId(named));
    // The browser is sent only to the redirect URI of a known client, so
    // `end.client` also shows that the client is known.
    const isStranger = known === undefined && end.client === undefined;
    // A client's name is more useful than its redirect URI.
    attempts.note({ step, isStranger, ...end, client: client ?? end.client });
  }

  return async (c, next) => {
    await next();
    if (c.error) return note(c, { failure: wordsFor(c.error) });
    const end = endOf(c.res.headers.get("location"), baseUrl);
    if (!end) return;
    c.set("refusal", end.failure);
    note(c, end);
  };
}

/**
 * Parses an authorization response from a redirect. Undefined without this
 * server's `iss` (RFC 9207).
 */
function endOf(
  location: string | null,
  issuer: string,
): Pick<ConnectAttempt, "client" | "failure"> | undefined {
  if (location === null) return undefined;
  const [client, query] = location.split("?");
  const answer = new URLSearchParams(query);
  if (answer.get("iss") !== issuer) return undefined;
  if (answer.has("code")) return { client };
  const error = answer.get("error");
  return { client, failure: `${error}: ${answer.get("error_description")}` };
}

function wordsFor(error: unknown): string {
  if (error instanceof OAuthError) return error.message;
  if (error instanceof HttpError) return `${error.status}: ${error.message}`;
  return "Internal error: the log tells more";
}

export function authorizationServer(
  options: AuthorizationServerOptions,
  makeGrantTypes: readonly MakeGrantType[] = [],
  makePages?: MakeSignedInPages,
) {
  const services = authorizationServices(options);
  const { baseUrl } = services;
  const grantTypes = makeGrantTypes.flatMap((make) => make(services) ?? []);
  const limit = (
    endpoint: string,
    perSecond: number,
    listShown?: ListCredentials,
  ) => rateLimit(services, endpoint, perSecond, listShown);
  const shown = presentedCredentials(services, () => pages);
  const authorizing = limit("authorize", 10, shown.authorizing);
  // A generous limit: a failed token request costs little, and other people
  // in the same network must be able to refresh.
  const issuing = limit("token", 200, shown.token);
  const pages: SignedInPages | undefined = makePages?.(
    services,
    limit("account", 10, shown.session),
  );
  const returning = limit(
    "callback",
    10,
    (c) => pages?.isReturning(c) ? pages.shown(c) : shown.returning(c),
  );
  const opened: MiddlewareHandler = async (c, next) => {
    checkDocument(c.req.raw);
    await next();
  };
  const finishSignIn = providerCallbackEndpoint(services);
  const recorded = attemptRecorder(services);

  const app = new Hono<AppEnv>();
  const metadata = authorizationServerMetadata(options, grantTypes);
  for (const path of serverMetadataPaths(baseUrl)) {
    app.get(path, (c) => c.json(metadata));
  }
  for (const path of ["/register", "/token", "/revoke"]) {
    app.use(path, async (c, next) => {
      c.header("Cache-Control", "no-store");
      await next();
    });
  }
  const registering = limit("register", 2);
  app.post("/register", recorded, registering, registerEndpoint(services));
  const authorize = authorizeEndpoint(services, pages);
  app.get("/authorize", opened, recorded, authorizing, authorize);
  const consent = consentEndpoint(services);
  app.post("/authorize", opened, recorded, authorizing, consent);
  const providerCallback = async (c: Context) => {
    if (!pages?.isReturning(c)) return await finishSignIn(c);
    const response = await pages.finish(c);
    waiveRate(c);
    return response;
  };
  // A single provider redirects to the first path. With several providers, each
  // redirects to a path of its own.
  for (const path of [CALLBACK_PATH, `${CALLBACK_PATH}/:provider`]) {
    app.get(path, opened, recorded, returning, providerCallback);
  }
  const token = tokenEndpoint(services, grantTypes);
  app.post("/token", recorded, issuing, token);
  app.post("/revoke", issuing, revokeEndpoint(services));
  if (pages) app.route("/", pages.app);

  return {
    app,
    providers: services.providers.all,
    /** Returns the provider's API, with the tokens of a grant's person. */
    upstream: services.providerTokens.upstream,
    /** Lets a grant's provider tokens be exchanged for tokens of services. */
    exchange: services.providerTokens.exchange,
    /** Writes the attempts that are still in memory, once no request can add one. */
    close: async () => {
      await services.attempts.close();
    },
  };
}

/**
 * A server's routes for signing in. Without an authorization server, they
 * refuse.
 */
export type SignIn =
  & Pick<ReturnType<typeof authorizationServer>, "app">
  & Partial<ReturnType<typeof authorizationServer>>;

export function makeSignIn(
  { auth, grantTypes, pages, ...options }:
    & Omit<AuthorizationServerOptions, "config">
    & {
      auth: AuthConfig;
      /** Grant types that features add to the token endpoint. */
      grantTypes?: readonly MakeGrantType[];
      /** Pages that a feature adds, with their own sign-in at the provider. */
      pages?: MakeSignedInPages;
    },
): SignIn {
  const { baseUrl, serverTitle: title, scopes } = options;
  const { oauth, jwt } = auth;
  const server = oauth &&
    authorizationServer({ ...options, config: oauth }, grantTypes, pages);
  const app = new Hono<AppEnv>();
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

/**
 * The routes that a client calls to connect, each of which is a step of
 * {@linkcode ConnectAttempt}.
 */
export const CONNECT_STEPS: readonly string[] = [
  "POST /register",
  "GET /authorize",
  "POST /authorize",
  `GET ${CALLBACK_PATH}`,
  `GET ${CALLBACK_PATH}/:provider`,
  "POST /token",
  "POST /revoke",
];

/** Makes routes that refuse, for a server without an authorization server. */
function closedServer(auth: AuthConfig, baseUrl: string): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  // 404 for metadata means "no sign-in" to clients; a 5xx would mean an
  // outage.
  const missing = refusal(404, auth);
  for (const path of serverMetadataPaths(baseUrl)) app.get(path, missing);
  for (
    const endpoint of [...CONNECT_STEPS, "GET /account/*", "POST /account/*"]
  ) {
    const [method, path] = endpoint.split(" ");
    app.on(method, path, refusal(501, auth));
  }
  return app;
}

/**
 * Makes an endpoint that refuses every request, because there is no sign-in.
 */
function refusal(status: 404 | 501, auth: AuthConfig): () => never {
  const strategies = Object.keys(auth).join(",") || "none";
  // For the log only.
  const cause = `AUTH_STRATEGY is ${strategies}. To let people sign in: ` +
    "AUTH_STRATEGY=oauth, OAUTH_PROVIDER, OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET";
  return () => {
    throw new HttpError(status, "This server has no sign-in", { cause });
  };
}
