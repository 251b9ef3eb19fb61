/**
 * Grants: what a person allowed a client. A grant that ends stays as a
 * tombstone, so that nothing of it can come back to life, and its provider
 * tokens are gone in the same commit.
 *
 * @module
 */
import { closeGrant, type CloseReason, type Grant } from "../oauth/grant.ts";
import {
  grantKey,
  grantsOfClientKey,
  grantsOfSubjectKey,
  upstreamKey,
} from "./keys.ts";
import {
  alive,
  commit,
  expireIn,
  find,
  type Found,
  MAX_LISTED,
  reach,
} from "./kv.ts";
import { now } from "../clock.ts";

/** Grants in Deno KV. */
export interface GrantStore {
  find(grantId: string): Promise<Found<Grant> | undefined>;
  /** Ends a grant: every credential of it is dead from now on. */
  close(grantId: string, reason: CloseReason): Promise<void>;
  /** The live grants of a person, newest first. */
  listOfSubject(subject: string): Promise<Grant[]>;
  /** The live grants of a client, newest first. */
  listOfClient(clientId: string): Promise<Grant[]>;
  /** The live grants, newest first; no more than 1,000 records are read. */
  list(): Promise<Grant[]>;
}

/** Adds a grant and its indexes to a commit; nothing else writes either. */
export function setGrant(
  operation: Deno.AtomicOperation,
  grant: Grant,
): Deno.AtomicOperation {
  const { id, subject, clientId, expiresAt } = grant;
  const entry = { expiresAt };
  return operation
    .set(grantKey(id), grant, expireIn(grant))
    .set(grantsOfSubjectKey(subject, id), entry, expireIn(grant))
    .set(grantsOfClientKey(clientId, id), entry, expireIn(grant));
}

/** Grants in a database. */
export function grantStore(kv: Deno.Kv): GrantStore {
  async function list(prefix: Deno.KvKey, limit?: number): Promise<Grant[]> {
    const ids = await reach(async () => {
      const ids: string[] = [];
      const entries = kv.list({ prefix }, { limit });
      for await (const { key } of entries) {
        ids.push(key.at(-1) as string);
      }
      return ids;
    });
    const grants: Grant[] = [];
    // getMany takes ten keys.
    for (let start = 0; start < ids.length; start += 10) {
      const keys = ids.slice(start, start + 10).map((id) => grantKey(id));
      const entries = await reach(() => kv.getMany<Grant[]>(keys));
      for (const entry of entries) {
        const found = alive(entry);
        if (found?.value.status === "active") grants.push(found.value);
      }
    }
    return grants.sort((a, b) => b.createdAt - a.createdAt);
  }

  return {
    find: (grantId) => find<Grant>(kv, grantKey(grantId)),

    async close(grantId, reason) {
      const key = grantKey(grantId);
      for (let closed = false; !closed;) {
        const found = await find<Grant>(kv, key);
        if (!found || found.value.status === "closed") return;
        const { value, versionstamp } = found;
        const tombstone = closeGrant(value, reason, now());
        closed = await commit(
          kv,
          (operation) =>
            setGrant(operation.check({ key, versionstamp }), tombstone)
              .delete(upstreamKey(grantId)),
        );
      }
    },

    listOfSubject: (subject) => list(grantsOfSubjectKey(subject)),
    listOfClient: (clientId) => list(grantsOfClientKey(clientId)),
    list: () => list(grantKey(), MAX_LISTED),
  };
}
