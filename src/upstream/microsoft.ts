/**
 * Microsoft's issuers: one application may serve many tenants, and then the
 * metadata names a template in place of an issuer.
 *
 * @module
 */

const TEMPLATE = "{tenantid}";
const TENANT_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Whether the metadata found under `configured` may name `named`: the same
 * origin, and the same tenant or, behind an alias (`common`, `organizations`,
 * `consumers`, a domain), the template or the tenant it stands for.
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
 * Whether `issuer` is the metadata's, with the tenant in place of the
 * template. Without a tenant (an authorization response has none), any tenant
 * will do: the `id_token` is held to its own.
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
