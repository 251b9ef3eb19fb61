/**
 * The issuer of a response or a token.
 *
 * @module
 */
import { UpstreamError } from "./upstream_error.ts";

/** The rules for a provider's issuers. */
export interface IssuerRules {
  /** True if metadata found under the configured issuer may name this one. */
  isNamed(configured: string, named: string): boolean;
  /**
   * True if tokens and responses of the metadata's issuer may carry this one.
   */
  isFrom(named: string, issuer: string, tenant?: unknown): boolean;
}

/** The rule of the standards: the same string. */
export const EXACT_ISSUER: IssuerRules = {
  isNamed: (configured, named) => configured === named,
  isFrom: (named, issuer) => named === issuer,
};

/**
 * Checks the `iss` of an authorization response.
 *
 * @param issuer undefined if the response has none
 * @throws {UpstreamError} `misbehaved`
 * @see RFC 9207 §2.4
 */
export function checkIssuer(
  issuer: string | undefined,
  { required, isOurs }: {
    /** True if the provider says that it always sends one. */
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
