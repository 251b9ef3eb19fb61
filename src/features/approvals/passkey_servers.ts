/**
 * The servers where people can have passkeys, and those where they can have
 * approvals remembered: both if a tool uses them.
 *
 * @module
 */
import type { OpenedServer } from "../../core/store/opened_server.ts";

/** The servers with a tool that asks for a passkey. */
export const withPasskeys = new WeakSet<OpenedServer>();

/** The servers with a tool that offers to remember its approvals. */
export const withOffers = new WeakSet<OpenedServer>();
