/**
 * Every key in the database, what stands under it and how long: the only
 * page that spells one. A key part that came from outside is a fingerprint,
 * so no key is longer than it looks and none can be used to get in.
 *
 * @module
 */

/** MCP session · 24 h after its last use. */
export function sessionKey(sessionId: string): Deno.KvKey {
  return ["session", sessionId];
}
