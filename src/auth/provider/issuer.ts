/**
 * The issuer of a response or a token.
 *
 * @module
 */
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
