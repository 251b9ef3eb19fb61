/**
 * Documents that clients publish: client ID metadata and key sets, fetched as
 * seldom as their HTTP headers allow.
 *
 * @module
 */
import {
  DOCUMENT_COOLDOWN_SECONDS,
  DOCUMENT_FRESH_SECONDS,
  DOCUMENT_TTL_SECONDS,
} from "../oauth/lifetimes.ts";
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
  /** Absent in records from before it was written down. */
  fetchedAt?: number;
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
    const { document, expiresAt } = await fetchDocument(url);
    const time = database.now();
    const { min, max } = DOCUMENT_FRESH_SECONDS;
    const record: DocumentRecord = {
      document,
      fetchedAt: time,
      freshUntil: Math.min(Math.max(expiresAt, time + min), time + max),
      expiresAt: time + DOCUMENT_TTL_SECONDS,
    };
    await database.commit((transaction) =>
      transaction.set(documentKey(url), record)
    );
    return document;
  }

  async function look(
    url: string,
    isGood: (kept: DocumentRecord) => boolean,
  ): Promise<Looked> {
    const kept = await database.find<DocumentRecord>(documentKey(url));
    if (kept && isGood(kept.value)) return kept.value;
    try {
      return { document: await fetchAndKeep(url) };
    } catch (error) {
      return { error, older: kept?.value };
    }
  }

  /**
   * Shared from before the read: one that began before the fetch was kept would
   * not see it, and fetch again.
   */
  function share(name: string, begin: () => Promise<Looked>): Promise<Looked> {
    let looked = looking.get(name);
    if (!looked) {
      looked = begin().finally(() => looking.delete(name));
      looking.set(name, looked);
    }
    return looked;
  }

  return {
    /**
     * The document at an address. `stale`: if its host does not answer, an
     * older copy will do, because a grant depends on it and no one chooses anew.
     *
     * @throws whatever the fetch throws
     */
    async find(
      url: string,
      { stale = false }: { stale?: boolean } = {},
    ): Promise<unknown> {
      const found = await share(
        `find ${url}`,
        () => look(url, ({ freshUntil }) => freshUntil > database.now()),
      );
      if ("document" in found) return found.document;
      if (found.older && stale) return found.older.document;
      throw found.error;
    },

    /**
     * The document as it is now, because something is missing in the one that
     * is kept; fetched once a minute at most, however many ask.
     */
    async renew(url: string): Promise<unknown> {
      const found = await share(`renew ${url}`, () =>
        look(
          url,
          ({ fetchedAt = 0 }) =>
            fetchedAt + DOCUMENT_COOLDOWN_SECONDS > database.now(),
        ));
      if ("document" in found) return found.document;
      if (found.older) return found.older.document;
      throw found.error;
    },
  };
}
