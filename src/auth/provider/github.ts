/**
 * GitHub: OAuth 2 with its own variations.
 *
 * - Errors come with status 200, and its token endpoint answers with a form
 *   unless JSON is asked for.
 * - The verified e-mail address is found at another endpoint than the user.
 * - Tokens are ended through the API and not by RFC 7009.
 *
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * @module
 */
import type { Identity, Membership } from "../../caller.ts";
import type { ProviderApplication } from "../../settings/application.ts";
import { buildAuthorizationUrl } from "./authorization_url.ts";
import {
  afterCode,
  misbehaved,
  type Provider,
  UpstreamError,
} from "./provider.ts";
import {
  type Ask,
  asking,
  checkAnswers,
  isTokenAlive,
  readPages,
  requestUserinfo,
  type UpstreamFetch,
} from "./upstream_fetch.ts";
import { isObject } from "../../json.ts";
import type { WantedMemberships } from "../../oauth/permissions.ts";
import { claimText, parseIdentity } from "./identity.ts";
import { basic, type Issuer, oauthClient } from "./oauth_client.ts";

const PUBLIC_ORIGIN = "https://github.com";

/** @see https://docs.github.com/en/apps/github-authentication-discovery-endpoints */
const PUBLIC_ISSUER = `${PUBLIC_ORIGIN}/login/oauth`;

/** The scopes for the person and their verified address. */
const SCOPES = ["read:user", "user:email"];

/** Makes the GitHub provider; nothing is fetched yet. */
export function gitHubProvider(
  {
    name = "GitHub",
    issuer = PUBLIC_ORIGIN,
    clientId,
    clientSecret,
    scopes: asked = SCOPES,
    extraAuthParams: extra,
    wanted = { memberships: new Set(), named: new Set() },
  }: ProviderApplication & {
    /** The address of an Enterprise instance. */
    issuer?: string;
    /** The memberships to find out. */
    wanted?: WantedMemberships;
  },
  fetchUpstream: UpstreamFetch,
): Provider {
  const { origin } = new URL(issuer);
  const apiUrl = gitHubApiUrl(origin);
  const server: Issuer = {
    issuer: PUBLIC_ISSUER,
    token_endpoint: `${origin}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ["client_secret_post"],
  };
  const client = oauthClient(fetchUpstream, { clientId, clientSecret });
  const isInRules = wanted.named.has("organizations") ||
    wanted.named.has("teams");
  const seesOrganizations = (scope: string) =>
    ORGANIZATION_SCOPES.includes(scope);
  const scopes = isInRules && !asked.some(seesOrganizations)
    ? [...asked, ORGANIZATION_SCOPES[0]]
    : asked;

  const askAs = asking(fetchUpstream);

  async function identify(accessToken: string): Promise<Identity> {
    const ask = askAs(accessToken);
    const [identity, memberships] = await Promise.all([
      readUser(ask, apiUrl),
      scopes.some(seesOrganizations)
        ? gitHubMemberships(ask, apiUrl, wanted.memberships)
        : {},
    ]);
    return { ...identity, ...memberships };
  }

  // The `iss` of Enterprise instances is wrong.
  const checkable = (issuer: string | undefined) =>
    origin === PUBLIC_ORIGIN ? issuer : undefined;

  const authorization = {
    endpoint: `${origin}/login/oauth/authorize`,
    clientId,
    scopes,
    extra,
    hintName: "login",
  };

  return {
    name,
    apiUrl,
    authorizationUrl: (request) =>
      Promise.resolve(buildAuthorizationUrl(authorization, request)),
    checkIssuer: (issuer) => client.checkIssuer(server, checkable(issuer)),
    async redeem(response) {
      const { tokens } = await client.redeem(server, {
        ...response,
        issuer: checkable(response.issuer),
      });
      const identity = await afterCode(() => identify(tokens.accessToken));
      return { tokens, identity };
    },
    refresh: async (refreshToken) =>
      (await client.refresh(server, refreshToken)).tokens,
    identify: ({ accessToken }) => identify(accessToken),
    isAlive: (accessToken) =>
      isTokenAlive(askAs(accessToken), `${apiUrl}/user`),
    checkAnswers: () => checkAnswers(fetchUpstream, server.token_endpoint),
    revokesOne: true,
    async revoke({ accessToken }) {
      const { host } = new URL(apiUrl);
      const { status } = await fetchUpstream(
        `${apiUrl}/applications/${encodeURIComponent(clientId)}/token`,
        {
          method: "DELETE",
          headers: {
            authorization: basic(clientId, clientSecret),
            "content-type": "application/json",
          },
          body: JSON.stringify({ access_token: accessToken }),
        },
      );
      // 404 and 422: the token was no longer valid.
      if (![204, 404, 422].includes(status)) {
        throw misbehaved(`${host} answered ${status}`);
      }
    },
  };
}

/** Gives the API's address for a sign-in address. */
export function gitHubApiUrl(origin: string): string {
  const { host } = new URL(origin);
  return origin === PUBLIC_ORIGIN || host.endsWith(".ghe.com")
    ? `https://api.${host}`
    : `${origin}/api/v3`;
}

async function readUser(ask: Ask, apiUrl: string): Promise<Identity> {
  const user = await requestUserinfo(ask, `${apiUrl}/user`);
  const [email, ...otherEmails] = await verifiedEmails(ask, apiUrl);
  // The login of an account may pass to another person, its number never does.
  const identity = parseIdentity({
    ...user,
    sub: user.id,
    email: email ?? user.email,
    email_verified: email !== undefined,
  });
  return otherEmails.length > 0 ? { ...identity, otherEmails } : identity;
}

/**
 * Returns true if a 403 tells of a rate limit.
 *
 * @see https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
function isRateLimited({ status, headers }: Response): boolean {
  return status === 403 &&
    (headers.has("retry-after") ||
      headers.get("x-ratelimit-remaining") === "0");
}

/** The most addresses of a person that are looked at. */
const MOST_ADDRESSES = 30;

/** Lists the verified addresses that we may read, the primary one first. */
async function verifiedEmails(ask: Ask, apiUrl: string): Promise<string[]> {
  const response = await ask(`${apiUrl}/user/emails`);
  if (isRateLimited(response)) {
    const { host } = new URL(apiUrl);
    throw new UpstreamError("unavailable", `${host} limits our rate for now`);
  }
  // 403 and 404: user:email was not granted.
  if (!response.ok) return [];
  const addresses: unknown = await response.json().catch(() => undefined);
  if (!Array.isArray(addresses)) return [];
  return addresses.filter(isObject)
    .filter(({ verified }) => verified === true)
    .sort((a, b) => Number(b.primary === true) - Number(a.primary === true))
    .flatMap(({ email }) => claimText(email) ?? [])
    .slice(0, MOST_ADDRESSES);
}

/** The scopes that open organizations and teams, the least access first. */
const ORGANIZATION_SCOPES = ["read:org", "write:org", "admin:org", "user"];

/**
 * Reads organizations as `acme` and `id:9919`, teams as `acme/engineers` and
 * `id:42`: names may pass to others, numbers never do. No login has a colon.
 * An organization that has not approved our application, or wants its own
 * single sign-on first, is silently absent.
 */
async function gitHubMemberships(
  ask: Ask,
  apiUrl: string,
  wanted: ReadonlySet<Membership>,
): Promise<Pick<Record<Membership, string[]>, "organizations" | "teams">> {
  const list = (path: string) =>
    readPages(ask, `${apiUrl}${path}?per_page=100`, {
      what: "organizations",
      within: `${new URL(apiUrl).origin}/`,
      parse: parsePage,
    });
  const [organizations, teams] = await Promise.all([
    wanted.has("organizations") ? list("/user/orgs") : [],
    wanted.has("teams") ? list("/user/teams") : [],
  ]);
  return {
    organizations: organizations.flatMap(({ id, login }) => [
      ...typeof login === "string" ? [login.toLowerCase()] : [],
      ...numbered(id),
    ]),
    teams: teams.flatMap(({ id, slug, organization }) => [
      ...isObject(organization) && typeof organization.login === "string" &&
          typeof slug === "string"
        ? [`${organization.login}/${slug}`.toLowerCase()]
        : [],
      ...numbered(id),
    ]),
  };
}

function numbered(id: unknown): string[] {
  return Number.isSafeInteger(id) ? [`id:${id}`] : [];
}

/** Reads a page, and the address of the next: `<https://…>; rel="next"`. */
async function parsePage(response: Response) {
  const link = response.headers.get("link");
  return {
    items: await response.json().catch(() => undefined) as unknown,
    // RFC 8288.
    next: link?.match(/<([^>]+)>;[^,]*\brel="next"/)?.[1],
  };
}
