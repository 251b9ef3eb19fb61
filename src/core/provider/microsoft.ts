/**
 * The particulars of Microsoft Entra: its issuers, and groups that do not fit
 * into a token ("group overage").
 *
 * @module
 */
import { isObject } from "../json.ts";
import { ENTRA_ID } from "../settings/application.ts";
import { namesIn } from "./identity.ts";
import { type Ask, readObject, readPages } from "./upstream_fetch.ts";

const TEMPLATE = "{tenantid}";

/**
 * True if the metadata of the issuer `configured` may have the issuer `named`.
 * That is the same issuer; or, if `configured` has an alias in place of a
 * tenant (`common`, `organizations`, `consumers`, a domain), an issuer of the
 * same origin with a tenant, or with the template.
 */
export function isMicrosoftIssuer(configured: string, named: string): boolean {
  if (configured === named) return true;
  const asked = new URL(configured);
  const alias = asked.pathname.split("/")[1];
  const prefix = `${asked.origin}/`;
  const suffix = "/v2.0";
  if (!named.startsWith(prefix) || !named.endsWith(suffix)) return false;
  const tenant = named.slice(prefix.length, -suffix.length);
  return !ENTRA_ID.test(alias) &&
    (tenant === TEMPLATE || ENTRA_ID.test(tenant));
}

/**
 * True if `issuer` matches the issuer of the metadata, which at Microsoft may
 * have a template in place of the tenant. The tenant in `issuer` must be
 * `tenant`. If that is undefined, as for an authorization response, any tenant
 * is accepted: that of the `id_token` is checked later.
 */
export function isTenantIssuer(
  template: string,
  issuer: string,
  tenant?: unknown,
): boolean {
  if (!template.includes(TEMPLATE)) return issuer === template;
  const [prefix, suffix] = template.split(TEMPLATE);
  const named = issuer.slice(prefix.length, issuer.length - suffix.length);
  return ENTRA_ID.test(named) && issuer === prefix + named + suffix &&
    (tenant === undefined || tenant === named);
}

const GRAPH = "https://graph.microsoft.com/v1.0/";

/**
 * Fetches the groups of a person whose token says that there are too many for
 * it; undefined if the token has the groups. Without `ask` they stay unknown.
 * The URL in the token is not used, because it belongs to an older API.
 *
 * @see
 * https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
export async function fetchOverageGroups(
  claims: Readonly<Record<string, unknown>>,
  ask?: Ask,
): Promise<{ groups: string[]; hasMore: boolean } | undefined> {
  const { _claim_names: elsewhere, hasgroups } = claims;
  const isTooMany = hasgroups === true || hasgroups === "true" ||
    isObject(elsewhere) && elsewhere.groups !== undefined;
  if (!isTooMany) return undefined;
  if (!ask) return { groups: [], hasMore: true };
  const first = `${GRAPH}me/transitiveMemberOf?$select=id&$top=999`;
  const { items, hasMore } = await readPages(ask, first, {
    what: "groups",
    within: GRAPH,
    async parse(response) {
      const answer = await readObject(response, new URL(GRAPH).host);
      return { items: answer.value, next: answer["@odata.nextLink"] };
    },
  });
  return { groups: namesIn(items.map(({ id }) => id)), hasMore };
}
