/**
 * Microsoft's issuers: one application may serve many tenants, and then the
 * metadata names a template in place of an issuer. And its groups: a token of a
 * person with more than 200 groups lists none.
 *
 * @module
 */
import { isObject } from "../../json.ts";
import { namesIn } from "./memberships.ts";
import { readObject } from "./upstream_fetch.ts";
import { type Ask, readPages } from "./userinfo.ts";

const TEMPLATE = "{tenantid}";
const TENANT_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * True if the metadata found under `configured` may name `named`: it has the
 * same origin, and the same tenant. If `configured` is an alias (`common`,
 * `organizations`, `consumers`, a domain), it may have the template or the
 * tenant that the alias stands for.
 */
export function isMicrosoftIssuer(configured: string, named: string): boolean {
  if (configured === named) return true;
  const asked = new URL(configured);
  const alias = asked.pathname.split("/")[1];
  const prefix = `${asked.origin}/`;
  const suffix = "/v2.0";
  if (!named.startsWith(prefix) || !named.endsWith(suffix)) return false;
  const tenant = named.slice(prefix.length, -suffix.length);
  return !TENANT_ID.test(alias) &&
    (tenant === TEMPLATE || TENANT_ID.test(tenant));
}

/**
 * True if `issuer` is the metadata's, with the tenant in place of the template.
 * Without a tenant (an authorization response has none), any tenant is
 * accepted: the `id_token` is checked for its own later.
 */
export function isTenantIssuer(
  template: string,
  issuer: string,
  tenant?: unknown,
): boolean {
  if (!template.includes(TEMPLATE)) return issuer === template;
  const [prefix, suffix] = template.split(TEMPLATE);
  const named = issuer.slice(prefix.length, issuer.length - suffix.length);
  return TENANT_ID.test(named) && issuer === prefix + named + suffix &&
    (tenant === undefined || tenant === named);
}

const GRAPH = "https://graph.microsoft.com/v1.0/";

/**
 * Reads the groups of a person whose token says that they did not fit in;
 * undefined if they did. The address in the token is not used, because it
 * belongs to an older API.
 *
 * @throws {import("./provider.ts").UpstreamError}
 * @see https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
export async function microsoftGroups(
  claims: Readonly<Record<string, unknown>>,
  ask: Ask,
): Promise<string[] | undefined> {
  const { _claim_names: elsewhere, hasgroups } = claims;
  const isTooMany = hasgroups === true || hasgroups === "true" ||
    isObject(elsewhere) && elsewhere.groups !== undefined;
  if (!isTooMany) return undefined;
  const first = `${GRAPH}me/transitiveMemberOf?$select=id&$top=999`;
  const groups = await readPages(ask, first, {
    what: "groups",
    within: GRAPH,
    async parse(response) {
      const answer = await readObject(response, new URL(GRAPH).host);
      return { items: answer.value, next: answer["@odata.nextLink"] };
    },
  });
  return namesIn(groups.map(({ id }) => id));
}
