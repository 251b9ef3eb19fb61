/**
 * The waits as records about people, for their pages and the export of their
 * data.
 *
 * @module
 */
import type { PersonRecords } from "../../core/auth/grants/end_grant.ts";
import type { Database } from "../../core/kv/database.ts";
import { findGrant } from "./wait_record.ts";
import type { Wait, WaitStore } from "./waits.ts";

export async function isPaused(
  database: Database,
  { grantId }: Pick<Wait, "grantId">,
): Promise<boolean> {
  const grant = await findGrant(database, grantId);
  return grant?.value.pausedAt !== undefined;
}

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
