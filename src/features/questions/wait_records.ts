/**
 * The waits of people, for their pages and for a copy of their data.
 *
 * @module
 */
import type { PersonRecords } from "../../core/auth/grants/end_grant.ts";
import type { Database } from "../../core/kv/database.ts";
import { findGrant } from "./wait_record.ts";
import type { Wait, WaitStore } from "./waits.ts";

/** True while the connection of a wait is paused. */
export async function isPaused(
  database: Database,
  { grantId }: Pick<Wait, "grantId">,
): Promise<boolean> {
  const grant = await findGrant(database, grantId);
  return grant?.value.pausedAt !== undefined;
}

/** The waits of people. */
export function waitRecords(
  { listKept, endAllOf, forgetAllOf }: Pick<
    WaitStore,
    "listKept" | "endAllOf" | "forgetAllOf"
  >,
): PersonRecords {
  return {
    name: "waits",
    async listOf(subject) {
      const kept = await listKept(subject);
      return kept.map(({ key: _key, id: _id, answer, ...wait }) => {
        const { by = subject, passkey: _, ...others } = answer ?? {};
        return { ...wait, answer: by === subject ? answer : others };
      });
    },
    endAllOf,
    forgetAllOf,
  };
}
