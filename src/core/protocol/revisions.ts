/**
 * The revisions of MCP. Those of 2025 have sessions; in 2026-07-28 each request
 * contains everything.
 * @module
 * @see MCP 2026-07-28, Versioning and Compatibility
 */

/** All revisions that this server offers, oldest first. */
export const REVISIONS = [
  "2025-03-26",
  "2025-06-18",
  "2025-11-25",
  "2026-07-28",
] as const;

/**
 * A revision that is accepted but not offered, because its own transport is not
 * supported. A client that requests it over Streamable HTTP gets it: its
 * messages are those of 2025-03-26 without batches, and the client may know no
 * other revision.
 */
const UNOFFERED = "2024-11-05";

export const STATELESS_REVISION = "2026-07-28";

export type Revision = typeof UNOFFERED | typeof REVISIONS[number];

/** A revision that opens sessions with `initialize`. */
export type SessionRevision = Exclude<Revision, typeof STATELESS_REVISION>;

/** True if this server supports a revision. */
export function isRevision(name: unknown): name is Revision {
  return name === UNOFFERED ||
    REVISIONS.includes(name as typeof REVISIONS[number]);
}

export function isSessionRevision(name: unknown): name is SessionRevision {
  return isRevision(name) && name !== STATELESS_REVISION;
}

/**
 * Returns the revision for `initialize`: the requested one if it has sessions,
 * else the latest with sessions.
 *
 * @see MCP 2025-11-25, Lifecycle, Version Negotiation
 */
export function negotiateRevision(asked: unknown): SessionRevision {
  return isSessionRevision(asked) ? asked : "2025-11-25";
}
