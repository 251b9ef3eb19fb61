/**
 * Grants: permissions of people for clients. A grant that ends stays as a
 * tombstone, so that nothing of it can come back to life, and its provider
 * tokens are deleted in the same commit.
 *
 * @module
 */
import { closeGrant, type Grant, ledgerIdOf } from "../oauth/grant.ts";
import {
  type Database,
  type Entry,
  type Found,
  MAX_LISTED,
} from "./database.ts";
import {
  grantKey,
  grantsOfSubjectKey,
  ledgerKey,
  upstreamKey,
} from "./keys.ts";
import type { Transaction, Write } from "./transaction.ts";

/** Adds a grant and its index to a commit; nothing else writes either. */
export function setGrant(
  transaction: Transaction,
  grant: Grant,
): Transaction {
  const { id, subject, expiresAt } = grant;
  return transaction
    .set(grantKey(id), grant)
    .set(grantsOfSubjectKey(subject, id), { expiresAt });
}

/** The precision of a grant's last use, in seconds. */
const TOUCH_SECONDS = 60;

export type GrantStore = ReturnType<typeof grantStore>;

/** Grants in a database. */
export function grantStore(database: Database) {
  async function list(prefix: Deno.KvKey, limit?: number): Promise<Grant[]> {
    const found = await database.list(prefix, { limit });
    const entries = await database.getMany<Grant[]>(
      found.map(({ key }) => grantKey(key.at(-1) as string)),
    );
    return entries.flatMap(({ value }) =>
      value?.status === "active" ? [value] : []
    ).sort((a, b) => b.createdAt - a.createdAt);
  }

  return {
    find: (grantId: string): Promise<Found<Grant> | undefined> =>
      database.find<Grant>(grantKey(grantId)),

    /**
     * Ends a grant: all its credentials are dead from now on.
     *
     * @param read the grant if it was just read
     * @param also writes of the same commit, for records that end with the
     * grant
     */
    async close(
      grantId: string,
      { read, also }: { read?: Entry<Grant>; also?: Write } = {},
    ): Promise<void> {
      for (let entry = read;; entry = undefined) {
        entry ??= await database.get<Grant>(grantKey(grantId));
        const { value: grant } = entry;
        const isOpen = grant !== undefined && grant.status !== "closed";
        if (!isOpen && !also) return;
        const isDone = await database.commit((transaction) => {
          also?.(transaction);
          if (!isOpen) return;
          const tombstone = closeGrant(grant, database.now());
          setGrant(transaction.check(entry!), tombstone)
            .delete(upstreamKey(grantId));
          if (grant.kind !== "client") {
            transaction.delete(ledgerKey(ledgerIdOf(grant)));
          }
        });
        if (isDone) return;
      }
    },

    /**
     * Changes a live grant, and gives the changed grant; undefined if it has
     * ended.
     *
     * @param found the grant as it was just read
     */
    async change(
      found: Found<Grant> | undefined,
      to: (grant: Grant) => Grant,
    ): Promise<Grant | undefined> {
      while (found?.value.status === "active") {
        const entry = found;
        const changed = to(entry.value);
        const isDone = await database.commit((transaction) =>
          setGrant(transaction.check(entry), changed)
        );
        if (isDone) return changed;
        found = await database.find<Grant>(entry.key);
      }
      return undefined;
    },

    /**
     * Records in the background that a grant is used now, at most once a
     * minute.
     */
    touch(grantId: string): void {
      database.background(async () => {
        const found = await database.find<Grant>(grantKey(grantId));
        const usedAt = database.now();
        if (found?.value.status !== "active") return;
        if (usedAt - found.value.usedAt < TOUCH_SECONDS) return;
        await database.commit((transaction) =>
          transaction.check(found).set(found.key, { ...found.value, usedAt })
        );
      });
    },

    /** Lists the live grants of a person, newest first. */
    listOfSubject: (subject: string): Promise<Grant[]> =>
      list(grantsOfSubjectKey(subject)),

    /** Lists the live grants, newest first; at most 1,000 records are read. */
    list: (): Promise<Grant[]> => list(grantKey(), MAX_LISTED),
  };
}
