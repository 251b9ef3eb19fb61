/**
 * Documents that clients publish: client ID metadata and key sets, fetched as
 * seldom as their HTTP headers allow.
 *
 * @module
 */
import { DOCUMENT_TTL_SECONDS } from "../oauth/lifetimes.ts";
import { documentKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find } from "./kv.ts";
import { now } from "../clock.ts";

/**
 * Fetches a document from an address that a stranger chose. `expiresAt` is
 * when it has to be fetched again, in epoch seconds.
 */
export type FetchDocument = (
  url: string,
) => Promise<{ document: unknown; expiresAt: number }>;

interface DocumentRecord extends Expiring {
  document: unknown;
  freshUntil: number;
}

/** A document, or why there is none and what there was before. */
type Looked =
  | { document: unknown }
  | { error: unknown; older?: DocumentRecord };

/** Documents by their address. */
export interface DocumentStore {
  /**
   * The document at an address. `stale`: if its host does not answer, an older
   * copy will do, because a grant depends on it and nobody chooses anew.
   *
   * @throws whatever the fetch throws
   */
  find(url: string, options?: { stale?: boolean }): Promise<unknown>;
}

/** Documents kept in a database and fetched when they are not fresh. */
export function documentStore(
  kv: Deno.Kv,
  fetchDocument: FetchDocument,
): DocumentStore {
  const looking = new Map<string, Promise<Looked>>();

  async function fetchAndKeep(url: string): Promise<unknown> {
    const { document, expiresAt: freshUntil } = await fetchDocument(url);
    const record: DocumentRecord = {
      document,
      freshUntil,
      expiresAt: now() + DOCUMENT_TTL_SECONDS,
    };
    await commit(
      kv,
      (operation) => operation.set(documentKey(url), record, expireIn(record)),
    );
    return document;
  }

  async function look(url: string): Promise<Looked> {
    const kept = await find<DocumentRecord>(kv, documentKey(url));
    if (kept && kept.value.freshUntil > now()) return kept.value;
    try {
      return { document: await fetchAndKeep(url) };
    } catch (error) {
      return { error, older: kept?.value };
    }
  }

  return {
    async find(url, { stale = false } = {}) {
      // Shared from before the read: one that began before the fetch was kept
      // would not see it, and fetch again.
      let looked = looking.get(url);
      if (!looked) {
        looked = look(url).finally(() => looking.delete(url));
        looking.set(url, looked);
      }
      const found = await looked;
      if ("document" in found) return found.document;
      if (found.older && stale) return found.older.document;
      throw found.error;
    },
  };
}
