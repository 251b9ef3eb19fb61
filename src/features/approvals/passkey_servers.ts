/**
 * The servers where people have passkeys: those with a tool that asks for one.
 *
 * @module
 */
import type { OpenedServer } from "../../core/store/opened_server.ts";

/** The servers with a tool that asks for a passkey. */
export const withPasskeys = new WeakSet<OpenedServer>();

/** True if a tool of a server asks for a passkey. */
export function wantsPasskeys(server: OpenedServer): boolean {
  return withPasskeys.has(server);
}
