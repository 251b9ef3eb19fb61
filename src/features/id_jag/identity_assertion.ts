/**
 * Checks the claims of identity assertions (ID-JAG), in which an organization's
 * identity provider names a person and the scopes of a client. No consent page
 * is needed.
 *
 * @see draft-ietf-oauth-identity-assertion-authz-grant
 * @see MCP extension io.modelcontextprotocol/enterprise-managed-authorization
 * @module
 */
import {
  ASSERTION_MAX_TTL_SECONDS,
  CLOCK_TOLERANCE_SECONDS,
} from "../../core/oauth/lifetimes.ts";
import type { TrustedIssuer } from "../../core/oauth/subject.ts";
import { invalidGrant } from "../../core/oauth/parameters.ts";
import { checkResources } from "../../core/oauth/resource.ts";
import { parseScope } from "../../core/oauth/scope.ts";

/** The `typ` of identity assertions, which no other JWT has. */
export const ID_JAG_TYPE = "oauth-id-jag+jwt";

/** The checked claims of an assertion. */
interface IdentityAssertion {
  /** The scopes that the client may have; all if absent. */
  scopes?: string[];
  /** The assertion's ID, which is accepted only once. */
  jti: string;
  /** The time after which `jti` may be forgotten, in epoch seconds. */
  expiresAt: number;
}

/**
 * Checks the claims of an assertion whose signature, type and issuer are valid.
 */
export function checkIdentityAssertion(
  claims: Readonly<Record<string, unknown>>,
  { tenant, clientId, baseUrl, now }: Pick<TrustedIssuer, "tenant"> & {
    /** The authenticated client that sent the assertion. */
    clientId: string;
    baseUrl: string;
    now: number;
  },
): IdentityAssertion {
  const { aud, client_id, sub, jti, iat, exp, resource, scope } = claims;
  const check = (isGood: boolean, description: string) => {
    if (!isGood) throw invalidGrant(description);
  };
  // Exactly one audience: if an assertion had two, each server could use it at
  // the other.
  const [audience, ...others] = Array.isArray(aud) ? aud : [aud];
  check(
    others.length === 0 && (audience === baseUrl || audience === `${baseUrl}/`),
    `aud of the assertion must be ${baseUrl}`,
  );
  check(
    client_id === clientId,
    "client_id of the assertion must be the client that sends it",
  );
  check(isText(sub), "sub of the assertion must be a text");
  check(isText(jti), "jti of the assertion must be a text");
  check(
    isTime(iat) && iat <= now + CLOCK_TOLERANCE_SECONDS,
    "iat of the assertion must be in the past",
  );
  check(
    isTime(exp) && exp <= now + ASSERTION_MAX_TTL_SECONDS,
    `exp of the assertion must be within ${ASSERTION_MAX_TTL_SECONDS} seconds`,
  );
  check(claims.tenant === tenant, "tenant of the assertion is not trusted");
  // `cnf` would bind the assertion to a key; `authorization_details` may say
  // more than scopes can.
  for (const member of ["cnf", "authorization_details"]) {
    check(claims[member] === undefined, `${member} is not supported`);
  }
  checkResource(resource, baseUrl);
  check(
    scope === undefined || typeof scope === "string",
    "scope of the assertion must be a text",
  );
  return {
    ...scope !== undefined && { scopes: parseScope(scope as string) },
    jti: jti as string,
    expiresAt: exp as number + CLOCK_TOLERANCE_SECONDS,
  };
}

function checkResource(resource: unknown, baseUrl: string): void {
  if (resource === undefined) return;
  const named = Array.isArray(resource) ? resource : [resource];
  try {
    if (!named.every(isText)) throw new TypeError("is no text");
    checkResources(named, baseUrl);
  } catch (cause) {
    throw invalidGrant(
      "resource of the assertion must be this server's",
      cause,
    );
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 2048;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
