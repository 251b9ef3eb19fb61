/**
 * Claims of a foreign token.
 *
 * @module
 */

/**
 * Finds a claim by its name. Names may contain dots, or be whole URLs: the
 * literal name is looked for first, then the path of dots
 * (`realm_access.roles`).
 */
export function claimAt(
  claims: Readonly<Record<string, unknown>>,
  name: string,
): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const member of name.split(".")) {
    const isObject = found !== null && typeof found === "object";
    if (!isObject || !Object.hasOwn(found as object, member)) return undefined;
    found = (found as Record<string, unknown>)[member];
  }
  return found;
}

/** Returns true for a true claim: some issuers write it as text or a number. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === "true" || value === "1";
}
