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
import { type Ask, readPages } from "./userinfo.ts";

/** The scopes that each let us see them, that with the least access first. */
export const ORGANIZATION_SCOPES = [
  "read:org",
  "write:org",
  "admin:org",
  "user",
];

/**
 * Reads organizations as `acme` and `id:9919`, teams as `acme/engineers` and
 * `id:42`: names may pass to others, numbers never do. No login has a colon.
 *
 * @throws {import("./provider.ts").UpstreamError}
 */
export async function gitHubMemberships(
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
