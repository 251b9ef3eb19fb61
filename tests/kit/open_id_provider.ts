/**
 * A real OpenID provider in the test's own process.
 *
 * @module
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import { callbackAt } from "../../src/core/settings/providers.ts";
import type { Arrival, Browser } from "./browser.ts";

/** An OpenID provider that is listening. */
export interface OpenIdProvider extends AsyncDisposable {
  issuer: string;
  /** The settings of a server that signs people in there. */
  environment: Record<string, string>;
  /** The same settings, for a provider that is one of several. */
  group: Record<string, string>;
  /** The paths that were requested. */
  readonly asked: string[];
  /** Claims of the provider's people from now on, besides their subjects. */
  claims: Record<string, unknown>;
  /** True if it does not know its people any more. */
  hasForgotten: boolean;
}

/** The options of a provider. */
export interface OpenIdProviderOptions {
  /** The lifetime of everything; access tokens live an hour at most. */
  ttlSeconds?: number;
  givesRefreshTokens?: boolean;
  /** The provider's name at our server, if it is one of several. */
  key?: string;
  /** Our redirect URI there; that of signing in by default. */
  redirectUri?: string;
  /** Scopes that it has besides those of OpenID. */
  scopes?: readonly string[];
  /** Grant types of its own, which `extend` adds. */
  grantTypes?: readonly string[];
  extend?(provider: Provider): void;
}

const APPLICATION = { client_id: "tool-server", client_secret: "our-secret" };

/** Starts a provider for a server with this public origin. */
export async function startOpenIdProvider(
  baseUrl: string,
  {
    ttlSeconds = 600,
    givesRefreshTokens = true,
    key,
    redirectUri = callbackAt(baseUrl, key),
    scopes = [],
    grantTypes = [],
    extend,
  }: OpenIdProviderOptions = {},
): Promise<OpenIdProvider> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!.replace(/\?.*/, ""));
    handle(request, response);
  });
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const provider = quietly(() =>
    new Provider(issuer, {
      scopes: ["openid", "offline_access", ...scopes],
      clients: [{
        ...APPLICATION,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token", ...grantTypes],
      }],
      issueRefreshToken: () => Promise.resolve(givesRefreshTokens),
      cookies: { keys: ["test"] },
      claims: {
        profile: ["name", "groups"],
        email: ["email", "email_verified"],
      },
      findAccount: (_: unknown, id: string) =>
        started.hasForgotten ? undefined : {
          accountId: id,
          claims: () => ({
            sub: id,
            name: `${id} of the tests`,
            email: `${id}@example.com`,
            email_verified: true,
            ...started.claims,
          }),
        },
      features: { revocation: { enabled: true, allowedPolicy: () => true } },
      ttl: Object.fromEntries(
        [
          "AccessToken",
          "Grant",
          "IdToken",
          "Interaction",
          "RefreshToken",
          "Session",
        ].map((artifact) => [
          artifact,
          artifact === "AccessToken" ? Math.min(ttlSeconds, 3600) : ttlSeconds,
        ]),
      ),
    })
  );
  extend?.(provider);
  const handle = provider.callback();
  const started: OpenIdProvider = {
    issuer,
    asked,
    claims: {},
    hasForgotten: false,
    group: Object.fromEntries(
      Object.entries({
        ISSUER: issuer,
        CLIENT_ID: APPLICATION.client_id,
        CLIENT_SECRET: APPLICATION.client_secret,
      }).map(([name, text]) => [`OAUTH_${key?.toUpperCase()}_${name}`, text]),
    ),
    environment: {
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: issuer,
      OAUTH_CLIENT_ID: APPLICATION.client_id,
      OAUTH_CLIENT_SECRET: APPLICATION.client_secret,
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return started;
}

/**
 * Makes a provider without its warnings, which are about using it for
 * development.
 */
function quietly<T>(make: () => T): T {
  const { warn, info } = console;
  console.warn = console.info = () => {};
  try {
    return make();
  } finally {
    Object.assign(console, { warn, info });
  }
}

/** Signs in on the provider's pages, and grants our server's request. */
export async function signInAt(
  issuer: string,
  browser: Browser,
  arrival: Arrival,
  name = "jo",
): Promise<Arrival> {
  while (arrival.url.startsWith(issuer)) {
    const isLogin = arrival.text.includes('name="login"');
    arrival = isLogin
      ? await browser.press(arrival, "login", name, { password: "x" })
      : await browser.press(arrival, "prompt", "consent");
  }
  return arrival;
}
