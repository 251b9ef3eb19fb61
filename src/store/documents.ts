/**
 * Documents that clients publish: client ID metadata and key sets, fetched as
 * seldom as their HTTP headers allow.
 *
 * @module
 */
import { DOCUMENT_TTL_SECONDS } from "../oauth/lifetimes.ts";
import type { Database, Expiring } from "./database.ts";
import { documentKey } from "./keys.ts";

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

export type DocumentStore = ReturnType<typeof documentStore>;

/** Documents by their address, fetched when they are not fresh. */
export function documentStore(
  database: Database,
  fetchDocument: FetchDocument,
) {
  const looking = new Map<string, Promise<Looked>>();

  async function fetchAndKeep(url: string): Promise<unknown> {
    const { document, expiresAt: freshUntil } = await fetchDocument(url);
    const record: DocumentRecord = {
      document,
      freshUntil,
      expiresAt: database.now() + DOCUMENT_TTL_SECONDS,
    };
    await database.commit((transaction) =>
      transaction.set(documentKey(url), record)
    );
    return document;
  }

  async function look(url: string): Promise<Looked> {
    const kept = await database.find<DocumentRecord>(documentKey(url));
    if (kept && kept.value.freshUntil > database.now()) return kept.value;
    try {
      return { document: await fetchAndKeep(url) };
    } catch (error) {
      return { error, older: kept?.value };
    }
  }

  return {
    /**
     * The document at an address. `stale`: if its host does not answer, an
     * older copy will do, because a grant depends on it and nobody chooses anew.
     *
     * @throws whatever the fetch throws
     */
    async find(
      url: string,
      { stale = false }: { stale?: boolean } = {},
    ): Promise<unknown> {
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
