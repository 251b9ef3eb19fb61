/**
 * The organizations and teams of a person at GitHub. An organization that has
 * not approved our application, or wants its own single sign-on first, is
 * silently absent.
 *
 * @see https://docs.github.com/en/rest/orgs/orgs
 * @see https://docs.github.com/en/rest/teams/teams
 * @module
 */
import type { Membership } from "../../caller.ts";
import { isObject } from "../../json.ts";
import { UpstreamError } from "./upstream_error.ts";
import type { UpstreamFetch } from "./upstream_fetch.ts";

/**
 * The scopes that each let us see them; the first one gives the least access.
 */
export const ORGANIZATION_SCOPES = [
  "read:org",
  "write:org",
  "admin:org",
  "user",
];

/** The most pages of a list that are read, of a hundred items each. */
const MAX_PAGES = 10;

/**
 * Reads organizations as `acme` and `id:9919`, teams as `acme/engineers` and
 * `id:42`: names may pass to others, numbers never do. No login has a colon.
 *
 * @throws {UpstreamError} because an error must not look like having no
 * memberships
 */
export async function gitHubMemberships(
  fetchUpstream: UpstreamFetch,
  apiUrl: string,
  accessToken: string,
  wanted: ReadonlySet<Membership>,
): Promise<Pick<Record<Membership, string[]>, "organizations" | "teams">> {
  const list = (path: string) =>
    readPages(fetchUpstream, `${apiUrl}${path}?per_page=100`, accessToken);
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

async function readPages(
  fetchUpstream: UpstreamFetch,
  first: string,
  accessToken: string,
): Promise<Record<string, unknown>[]> {
  const { origin, host } = new URL(first);
  const items: Record<string, unknown>[] = [];
  let next: string | undefined = first;
  for (let page = 0; next !== undefined && page < MAX_PAGES; page++) {
    const response: Response = await fetchUpstream(next, {
      headers: { authorization: `Bearer ${accessToken}` },
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok || !Array.isArray(body)) {
      throw new UpstreamError(
        response.status === 401 ? "dead" : "misbehaved",
        `${host} answered ${response.status} when asked for organizations`,
      );
    }
    items.push(...body.filter(isObject));
    next = nextPage(response.headers.get("link"));
    // Our token must not be sent to another origin.
    if (next !== undefined && URL.parse(next)?.origin !== origin) break;
  }
  return items;
}

/** Finds the next page (RFC 8288): `<https://…>; rel="next"`. */
function nextPage(link: string | null): string | undefined {
  return link?.match(/<([^>]+)>;[^,]*\brel="next"/)?.[1];
}
