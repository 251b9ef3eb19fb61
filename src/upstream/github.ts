/**
 * GitHub: OAuth 2 with ways of its own.
 *
 * - Errors come with status 200, and its token endpoint answers with a form
 *   unless JSON is asked for.
 * - The verified e-mail address is found at another endpoint than the user.
 * - Tokens are ended through the API and not by RFC 7009.
 *
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * @module
 */
import type { Identity } from "../caller.ts";
import { buildAuthorizationUrl } from "./authorization_url.ts";
import { UpstreamError } from "./error.ts";
import { type Exchange, isObject } from "./exchange.ts";
import { parseIdentity } from "./identity.ts";
import type { Provider } from "./provider.ts";
import { requestUserinfo } from "./openid.ts";
import { type Application, basic, requestTokens } from "./token_endpoint.ts";

/** GitHub, or an Enterprise instance, and our application there. */
export interface GitHubOptions {
  /** Where people sign in; an Enterprise instance's own address. */
  origin?: string;
  clientId: string;
  clientSecret: string;
  scopes?: readonly string[];
  extra: Readonly<Record<string, string>>;
}

const PUBLIC_ORIGIN = "https://github.com";

/** Who it is, and their verified address. */
const SCOPES = ["read:user", "user:email"];

/** GitHub; nothing is fetched yet. */
export function gitHubProvider(
  {
    origin = PUBLIC_ORIGIN,
    clientId,
    clientSecret,
    scopes = SCOPES,
    extra,
  }: GitHubOptions,
  exchange: Exchange,
  now: () => number,
): Provider {
  const application: Application = {
    clientId,
    clientSecret,
    authMethods: ["client_secret_post"],
  };
  const apiUrl = gitHubApiUrl(origin);
  const grant = (parameters: Record<string, string>) =>
    requestTokens(
      exchange,
      `${origin}/login/oauth/access_token`,
      application,
      parameters,
      now(),
    );
  const authorization = {
    endpoint: `${origin}/login/oauth/authorize`,
    clientId,
    scopes,
    extra,
  };

  return {
    name: "GitHub",
    apiUrl,
    authorizationUrl: (request) =>
      Promise.resolve(buildAuthorizationUrl(authorization, request)),
    async redeem({ code, codeVerifier, redirectUri, issuer }) {
      checkIssuer(origin, issuer);
      const { tokens } = await grant({
        grant_type: "authorization_code",
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
      });
      const identity = await identify(exchange, apiUrl, tokens.accessToken);
      return { tokens, identity };
    },
    async refresh(refreshToken) {
      const { tokens } = await grant({
        grant_type: "refresh_token",
        refresh_token: refreshToken,
      });
      return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
    },
    async revoke({ accessToken }) {
      const { host } = new URL(apiUrl);
      const { status } = await exchange(
        `${apiUrl}/applications/${encodeURIComponent(clientId)}/token`,
        {
          method: "DELETE",
          headers: { authorization: basic(clientId, clientSecret) },
          body: JSON.stringify({ access_token: accessToken }),
        },
      );
      // 404 and 422: it was no token any more.
      if (![204, 404, 422].includes(status)) {
        throw new UpstreamError("misbehaved", `${host} answered ${status}`);
      }
    },
  };
}

/** The API that belongs to where people sign in. */
export function gitHubApiUrl(origin: string): string {
  const { host } = new URL(origin);
  return origin === PUBLIC_ORIGIN || host.endsWith(".ghe.com")
    ? `https://api.${host}`
    : `${origin}/api/v3`;
}

/** Only the public instance has an issuer that its documentation vouches for. */
function checkIssuer(origin: string, issuer: string | undefined): void {
  if (issuer === undefined || origin !== PUBLIC_ORIGIN) return;
  if (issuer === `${PUBLIC_ORIGIN}/login/oauth`) return;
  throw new UpstreamError(
    "misbehaved",
    "The answer did not come from the provider: iss",
  );
}

async function identify(
  exchange: Exchange,
  apiUrl: string,
  accessToken: string,
): Promise<Identity> {
  const user = await requestUserinfo(exchange, `${apiUrl}/user`, accessToken);
  const email = await verifiedEmail(exchange, apiUrl, accessToken);
  // The name of an account may pass to somebody else, its number never does.
  return parseIdentity({
    ...user,
    sub: user.id,
    email: email ?? user.email,
    email_verified: email !== undefined,
  });
}

/** The primary address, when it is verified and we may know it. */
async function verifiedEmail(
  exchange: Exchange,
  apiUrl: string,
  accessToken: string,
): Promise<string | undefined> {
  const response = await exchange(`${apiUrl}/user/emails`, {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  // 403 and 404: we were not granted user:email.
  if (!response.ok) return undefined;
  const addresses: unknown = await response.json().catch(() => undefined);
  if (!Array.isArray(addresses)) return undefined;
  const primary = addresses.filter(isObject).find(({ primary, verified }) =>
    primary === true && verified === true
  );
  return typeof primary?.email === "string" ? primary.email : undefined;
}
