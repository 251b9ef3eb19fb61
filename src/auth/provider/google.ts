/**
 * Addresses at Google, which are verified in a way of their own.
 *
 * @module
 */

/** Google's own issuer, for people of every organization. */
export const GOOGLE_ISSUER = "https://accounts.google.com";

const CONSUMER_DOMAINS = ["gmail.com", "googlemail.com"];

/**
 * Returns true if Google itself gives out an address. Anyone can open a consumer
 * account with an address of their company, keep it when they leave, and
 * Google goes on calling it verified: only `hd` says that the domain's
 * organization manages the account.
 *
 * @see https://developers.google.com/identity/gsi/web/guides/verify-google-id-token
 */
export function isGoogleAddress(
  email: string,
  { hd }: Readonly<Record<string, unknown>>,
): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return CONSUMER_DOMAINS.includes(domain) ||
    typeof hd === "string" && hd.toLowerCase() === domain;
}

/** Finds the rule for addresses of an issuer, which may be Google by another setting. */
export function addressRuleOf(
  issuer: string,
): typeof isGoogleAddress | undefined {
  const isGoogle = issuer.replace(/\/$/, "").toLowerCase() === GOOGLE_ISSUER ||
    issuer === "accounts.google.com";
  return isGoogle ? isGoogleAddress : undefined;
}
