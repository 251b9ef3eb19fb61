/**
 * How a client ID of ours is written: a short name, a dot, and the sealed
 * registration. Those from before are the short name alone.
 *
 * @module
 */

/** It travels in query strings, with everything else of a request. */
export const CLIENT_ID_MAX_CHARACTERS = 3000;

const SEALED = /^([\w-]{22})\.[\w.-]+$/;

/** Whether an ID may carry a registration. */
export function isSealedClientId(clientId: string): boolean {
  return clientId.length <= CLIENT_ID_MAX_CHARACTERS && SEALED.test(clientId);
}

/** What to call an ID in logs and lists: its name tells it from others. */
export function shortClientId(clientId: string): string {
  return SEALED.exec(clientId)?.[1] ?? clientId;
}
