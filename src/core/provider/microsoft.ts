/**
 * Microsoft Entra: its issuers, and groups that do not fit into a token ("group
 * overage").
 *
 * @module
 */
import { isObject } from "../json.ts";
import { ENTRA_ID } from "../settings/application.ts";
import { namesInClaim } from "./identity.ts";
import {
  type AuthorizedFetch,
  readObject,
  readPages,
} from "./upstream_fetch.ts";

const TEMPLATE = "{tenantid}";

/**
 * True if the metadata of the issuer `configured` may name the issuer `named`.
 * Usually both are the same. If `configured` has an alias in place of a tenant
 * (`common`, `organizations`, `consumers`, a domain), `named` may have the
 * template or any tenant, at the same origin.
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
 * True if `issuer` matches the issuer in the metadata, which is a template at
 * Microsoft. The tenant in `issuer` must be `tenant`. If `tenant` is undefined,
 * any tenant matches: an authorization response has none, and the `id_token` is
 * checked later.
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
 * Fetches a person's groups if their token had no room for them. Undefined if
 * the token has the groups. Without `ask`, the groups stay unknown. The URL in
 * the token is ignored, because it belongs to an older API.
 * @see
 * https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
export async function fetchOverageGroups(
  claims: Readonly<Record<string, unknown>>,
  ask?: AuthorizedFetch,
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
  return { groups: namesInClaim(items.map(({ id }) => id)), hasMore };
}
