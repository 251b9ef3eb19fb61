/**
 * The dated versions of the protocol, and which of its two generations each
 * belongs to: 2025 keeps sessions, 2026 carries everything in each request.
 *
 * @module
 * @see MCP 2026-07-28, Versioning and Compatibility
 */

/** Every revision this server offers, oldest first. */
export const REVISIONS = [
  "2025-03-26",
  "2025-06-18",
  "2025-11-25",
  "2026-07-28",
] as const;

/**
 * Not offered, because its own transport is not served. A client that asks for
 * it over this one gets it: its messages are those of 2025-03-26 without
 * batches, and it may know no other name.
 */
const UNOFFERED = "2024-11-05";

/** A revision that opens sessions with `initialize`. */
export type SessionRevision =
  | typeof UNOFFERED
  | "2025-03-26"
  | "2025-06-18"
  | "2025-11-25";

/** The stateless revision. */
export const STATELESS_REVISION = "2026-07-28";

/** A revision this server speaks. */
export type Revision = SessionRevision | typeof STATELESS_REVISION;

/** Whether this server speaks a revision. */
export function isRevision(name: unknown): name is Revision {
  return name === UNOFFERED ||
    REVISIONS.includes(name as typeof REVISIONS[number]);
}

/** Whether a revision belongs to the generation with sessions. */
export function isSessionRevision(name: unknown): name is SessionRevision {
  return isRevision(name) && name !== STATELESS_REVISION;
}

/**
 * What `initialize` settles on: the revision asked for if it has sessions,
 * else the latest that does.
 *
 * @see MCP 2025-11-25, Lifecycle, Version Negotiation
 */
export function negotiateRevision(asked: unknown): SessionRevision {
  return isSessionRevision(asked) ? asked : "2025-11-25";
}
