/**
 * The form of our client IDs: a short name, a dot, and the sealed registration.
 *
 * @module
 */

/**
 * The longest client ID: it travels in query strings, next to the other
 * parameters.
 */
export const CLIENT_ID_MAX_CHARACTERS = 3000;

const SEALED = /^([\w-]{22})\.[\w.-]+$/;

/** True if the ID may carry a registration. */
export function isSealedClientId(clientId: string): boolean {
  return clientId.length <= CLIENT_ID_MAX_CHARACTERS && SEALED.test(clientId);
}

/** Gives the short name of an ID, for logs and lists. */
export function shortClientId(clientId: string): string {
  return SEALED.exec(clientId)?.[1] ?? clientId;
}
