/**
 * GitHub: OAuth 2 with deviations.
 * - Errors have status 200, and the token endpoint sends a form unless asked
 * for JSON.
 * - The verified e-mail addresses have an endpoint of their own.
 * - Tokens are revoked through the API, not by RFC 7009.
 *
 * @see
 * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * @module
 */
import type { Membership } from "../caller.ts";
import { knownIdentity, type ProviderIdentity } from "../oauth/person.ts";
import type { ProviderApplication } from "../settings/application.ts";
import { buildAuthorizationUrl } from "./authorization_url.ts";
import { withSpentCode } from "./spent_code.ts";
import { misbehaved, type Provider, type UpstreamTokens } from "./provider.ts";
import {
  type AuthorizedFetch,
  authorizedFetches,
  checkAnswers,
  isTokenAlive,
  readPages,
  type UpstreamFetch,
} from "./upstream_fetch.ts";
import { isObject } from "../json.ts";
import type { NeededMemberships } from "../oauth/permissions.ts";
import { gitHubUser } from "./github_user.ts";
import { basicCredentials } from "./basic.ts";
import { type IssuerMetadata, oauthClient } from "./oauth_client.ts";

const PUBLIC_ORIGIN = "https://github.com";

/** @see https://docs.github.com/en/apps/github-authentication-discovery-endpoints */
const PUBLIC_ISSUER = `${PUBLIC_ORIGIN}/login/oauth`;

/** The scopes for the user and their verified addresses. */
const SCOPES = ["read:user", "user:email"];

/** Makes the GitHub provider, without sending a request. */
export function gitHubProvider(
  {
    name = "GitHub",
    issuer = PUBLIC_ORIGIN,
    clientId,
    clientSecret,
    scopes: asked = SCOPES,
    extraAuthParams: extra,
    needed = { memberships: new Set(), named: new Set() },
  }: ProviderApplication & {
    /** The URL of an Enterprise instance. */
    issuer?: string;
    needed?: NeededMemberships;
  },
  fetchUpstream: UpstreamFetch,
): Provider {
  const { origin } = new URL(issuer);
  const apiUrl = gitHubApiUrl(origin);
  const server: IssuerMetadata = {
    issuer: PUBLIC_ISSUER,
    token_endpoint: `${origin}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ["client_secret_post"],
  };
  const client = oauthClient(fetchUpstream, { clientId, clientSecret });
  const isInRules = needed.named.has("organizations") ||
    needed.named.has("teams");
  const seesOrganizations = (scope: string) =>
    ORGANIZATION_SCOPES.includes(scope);
  const scopes = isInRules && !asked.some(seesOrganizations)
    ? [...asked, ORGANIZATION_SCOPES[0]]
    : asked;

  const askAs = authorizedFetches(fetchUpstream);

  async function identify(accessToken: string): Promise<ProviderIdentity> {
    const ask = askAs(accessToken);
    const [user, { unknown: others = [], ...memberships }] = await Promise.all([
      gitHubUser(ask, apiUrl),
      scopes.some(seesOrganizations)
        ? gitHubMemberships(ask, apiUrl, needed.memberships)
        : NO_MEMBERSHIPS,
    ]);
    const unknown = [...user.unknown ?? [], ...others];
    return {
      ...user,
      ...memberships,
      ...unknown.length > 0 && { unknown },
    };
  }

  // Enterprise instances send a wrong `iss` (RFC 9207), so it is not
  // checked.
  const checkable = (issuer: string | undefined) =>
    origin === PUBLIC_ORIGIN ? issuer : undefined;

  const revoke = gitHubRevocation(fetchUpstream, {
    apiUrl,
    clientId,
    clientSecret,
  });

  const authorization = {
    endpoint: `${origin}/login/oauth/authorize`,
    clientId,
    scopes,
    extra,
    hintName: "login",
    // GitHub has no `prompt` that asks for a password again.
    freshPrompt: "select_account" as const,
  };

  return {
    name,
    issuer: checkable(PUBLIC_ISSUER),
    apiUrl,
    authorizationUrl: (request) =>
      Promise.resolve(buildAuthorizationUrl(authorization, request)),
    checkIssuer: (issuer) => client.checkIssuer(server, checkable(issuer)),
    async redeem(response) {
      const { tokens } = await client.redeem(server, {
        ...response,
        issuer: checkable(response.issuer),
      });
      const answer = await withSpentCode(
        () => identify(tokens.accessToken),
        () => revoke(tokens),
      );
      return { tokens, identity: knownIdentity(answer) };
    },
    refresh: async (refreshToken) =>
      (await client.refresh(server, refreshToken)).tokens,
    identify: ({ accessToken }) => identify(accessToken),
    isAlive: (accessToken) =>
      isTokenAlive(askAs(accessToken), `${apiUrl}/user`),
    checkAnswers: () => checkAnswers(fetchUpstream, server.token_endpoint),
    revokesOne: true,
    revoke,
  };
}

/** Makes the function that revokes one token through the API. */
export function gitHubRevocation(
  fetchUpstream: UpstreamFetch,
  { apiUrl, clientId, clientSecret }: {
    apiUrl: string;
    clientId: string;
    clientSecret: string;
  },
): (tokens: Pick<UpstreamTokens, "accessToken">) => Promise<void> {
  return async ({ accessToken }) => {
    const { host } = new URL(apiUrl);
    const { status } = await fetchUpstream(
      `${apiUrl}/applications/${encodeURIComponent(clientId)}/token`,
      {
        method: "DELETE",
        headers: {
          authorization: basicCredentials(clientId, clientSecret),
          "content-type": "application/json",
        },
        body: JSON.stringify({ access_token: accessToken }),
      },
    );
    // 404 and 422: the token was already invalid.
    if (![204, 404, 422].includes(status)) {
      throw misbehaved(`${host} answered ${status}`);
    }
  };
}

/** Returns the API's URL for the origin of GitHub's sign-in. */
export function gitHubApiUrl(origin: string): string {
  const { host } = new URL(origin);
  return origin === PUBLIC_ORIGIN || host.endsWith(".ghe.com")
    ? `https://api.${host}`
    : `${origin}/api/v3`;
}

const NO_MEMBERSHIPS: Pick<ProviderIdentity, "unknown"> = {};

/**
 * The scopes that allow reading organizations and teams, the narrowest first.
 */
const ORGANIZATION_SCOPES = ["read:org", "write:org", "admin:org", "user"];

/**
 * Reads organizations as `acme` and `id:9919`, teams as `acme/engineers` and
 * `id:42`. A name may pass to another organization, a number never does. No
 * name has a colon. GitHub silently omits organizations that have not approved
 * this OAuth client, and those that first require their own single sign-on. A
 * response header reports the latter.
 */
async function gitHubMemberships(
  ask: AuthorizedFetch,
  apiUrl: string,
  needed: ReadonlySet<Membership>,
): Promise<Pick<ProviderIdentity, "organizations" | "teams" | "unknown">> {
  const unknown: Membership[] = [];
  async function list(path: string, kind: Membership) {
    if (!needed.has(kind)) return [];
    let isPartial = false;
    const first = `${apiUrl}${path}?per_page=100`;
    const { items, hasMore } = await readPages(ask, first, {
      what: "organizations",
      within: `${new URL(apiUrl).origin}/`,
      parse(response) {
        const sso = response.headers.get("x-github-sso");
        isPartial ||= sso?.startsWith("partial-results") === true;
        return parsePage(response);
      },
    });
    if (isPartial || hasMore) unknown.push(kind);
    return items;
  }
  const [organizations, teams] = await Promise.all([
    list("/user/orgs", "organizations"),
    list("/user/teams", "teams"),
  ]);
  return {
    unknown,
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

/** Parses one page, and the URL of the next page in `Link` (RFC 8288). */
async function parsePage(response: Response) {
  const link = response.headers.get("link");
  return {
    items: await response.json().catch(() => undefined) as unknown,
    // For example `<https://…>; rel="next"`.
    next: link?.match(/<([^>]+)>;[^,]*\brel="next"/)?.[1],
  };
}
