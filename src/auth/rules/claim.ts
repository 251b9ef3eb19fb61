/**
 * Claims of a foreign token.
 *
 * @module
 */

/** Returns true for a true claim: some issuers write it as text or a number. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === "true" || value === "1";
}
