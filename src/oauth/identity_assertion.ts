/**
 * Identity assertions (ID-JAG): an organization's own identity provider says
 * who its person is and what a client may have of them here, so that no one is
 * asked on a page.
 *
 * @see draft-ietf-oauth-identity-assertion-authz-grant
 * @see MCP extension io.modelcontextprotocol/enterprise-managed-authorization
 * @module
 */
import { OAuthError } from "../errors.ts";
import {
  ASSERTION_MAX_TTL_SECONDS,
  CLOCK_TOLERANCE_SECONDS,
} from "./lifetimes.ts";
import { checkResources } from "./resource.ts";
import { parseScope } from "./scope.ts";

/** RFC 7523 §2.1. */
export const JWT_BEARER_GRANT_TYPE =
  "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** How the metadata says that such an assertion may be one of these. */
export const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

/** The `typ` that keeps it apart from every other JWT. */
export const ID_JAG_TYPE = "oauth-id-jag+jwt";

/** An identity provider whose word counts. */
export interface TrustedIssuer {
  /** Its `iss`, letter by letter. */
  issuer: string;
  /** The one organization there that is meant, where it serves several. */
  tenant?: string;
}

/** An issuer as settings and grants write it; no issuer holds a fragment. */
export function printIssuer({ issuer, tenant }: TrustedIssuer): string {
  return tenant === undefined ? issuer : `${issuer}#${tenant}`;
}

/** What {@linkcode printIssuer} wrote. */
export function parseIssuer(text: string): TrustedIssuer {
  const [issuer, ...rest] = text.split("#");
  const tenant = rest.join("#");
  return tenant === "" ? { issuer } : { issuer, tenant };
}

/** What an assertion allows. */
export interface IdentityAssertion {
  /** What the client may have at most; undefined: it does not say. */
  scopes?: string[];
  /** Lets it be used once only. */
  jti: string;
  /** When no one need remember it any more, in epoch seconds. */
  expiresAt: number;
}

/** `invalid_grant`. @param cause for the log */
export function badAssertion(description: string, cause?: unknown): OAuthError {
  return new OAuthError("invalid_grant", description, { cause });
}

/**
 * Checks the claims of an assertion whose signature, type and issuer are good.
 *
 * @throws {OAuthError} `invalid_grant`
 */
export function checkIdentityAssertion(
  claims: Readonly<Record<string, unknown>>,
  { tenant, clientId, baseUrl, now }: Pick<TrustedIssuer, "tenant"> & {
    /** The client that sent it, and has proved who it is. */
    clientId: string;
    baseUrl: string;
    now: number;
  },
): IdentityAssertion {
  const { aud, client_id, sub, jti, iat, exp, resource, scope } = claims;
  const check = (isGood: boolean, description: string) => {
    if (!isGood) throw badAssertion(description);
  };
  // One audience alone: with a second it could be taken to another server.
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
  // It would be bound to a key, or to more than scopes can say.
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
    throw badAssertion(
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
