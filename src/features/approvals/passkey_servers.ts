/**
 * The servers where people have passkeys, and those where they remember
 * approvals: by what their tools ask for.
 *
 * @module
 */
import type { OpenedServer } from "../../core/store/opened_server.ts";

/** The servers with a tool that asks for a passkey. */
export const withPasskeys = new WeakSet<OpenedServer>();

/** The servers with a tool that offers to remember its approvals. */
export const withOffers = new WeakSet<OpenedServer>();
