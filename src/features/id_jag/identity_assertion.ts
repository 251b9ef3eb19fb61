/**
 * Identity assertions (ID-JAG): an organization's own identity provider names a
 * person and the scopes that a client may have for them here, so that no
 * consent page is needed.
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
  /**
   * The maximum number of scopes that the client may have; undefined for no
   * limit.
   */
  scopes?: string[];
  /** The id of the assertion, which is accepted only once. */
  jti: string;
  /**
   * The time from which the assertion's `jti` may be forgotten, in epoch
   * seconds.
   */
  expiresAt: number;
}

/** Checks the claims of an assertion of valid signature, type and issuer. */
export function checkIdentityAssertion(
  claims: Readonly<Record<string, unknown>>,
  { tenant, clientId, baseUrl, now }: Pick<TrustedIssuer, "tenant"> & {
    /** The client that sent the assertion, and that has authenticated. */
    clientId: string;
    baseUrl: string;
    now: number;
  },
): IdentityAssertion {
  const { aud, client_id, sub, jti, iat, exp, resource, scope } = claims;
  const check = (isGood: boolean, description: string) => {
    if (!isGood) throw invalidGrant(description);
  };
  // Exactly one audience: with a second one, that server could use the
  // assertion too.
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
  // The assertion would be bound to a key, or say more than scopes can.
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
