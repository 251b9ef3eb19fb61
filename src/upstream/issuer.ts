/**
 * Who an answer or a token comes from.
 *
 * @module
 */
import { UpstreamError } from "./upstream_error.ts";

/** How a provider names its issuers. */
export interface IssuerRules {
  /** Whether metadata found under the configured issuer may name this one. */
  isNamed(configured: string, named: string): boolean;
  /** Whether tokens and answers of the metadata's issuer may carry this one. */
  isFrom(named: string, issuer: string, tenant?: unknown): boolean;
}

/** What the standards say: the same, letter by letter. */
export const EXACT_ISSUER: IssuerRules = {
  isNamed: (configured, named) => configured === named,
  isFrom: (named, issuer) => named === issuer,
};

/**
 * Checks the `iss` of an authorization response.
 *
 * @param issuer undefined when the response has none
 * @throws {UpstreamError} `misbehaved`
 * @see RFC 9207 §2.4
 */
export function checkIssuer(
  issuer: string | undefined,
  { required, isOurs }: {
    /** Whether the provider says that it always sends one. */
    required: boolean;
    isOurs: (issuer: string) => boolean;
  },
): void {
  if (issuer === undefined ? !required : isOurs(issuer)) return;
  throw new UpstreamError(
    "misbehaved",
    "The answer did not come from the provider: iss",
  );
}
