/**
 * Documents that clients publish: client ID metadata documents and JWKS,
 * fetched as seldom as their HTTP headers allow. Anyone can name a URL, so only
 * documents of clients that someone has signed in with are in the database.
 * Others are only in memory, up to a limit.
 *
 * @module
 */
import {
  DOCUMENT_COOLDOWN_SECONDS,
  DOCUMENT_FRESH_SECONDS,
  DOCUMENT_TTL_SECONDS,
} from "../oauth/lifetimes.ts";
import { LatestMap } from "../cache.ts";
import type { Database, Expiring } from "../kv/database.ts";
import { documentKey } from "../kv/keys.ts";

/**
 * Fetches a document from a URL that anyone may have chosen. `expiresAt` is the
 * epoch second at which the document is no longer fresh.
 */
export type FetchDocument = (
  url: string,
) => Promise<{ document: unknown; expiresAt: number }>;

/**
 * Fetches a document. `isKept`: true if someone has signed in with the client
 * that publishes it. `network`: the network that the request came from, if
 * known.
 * @throws an error with `isRefused: true` if there are too many fetches
 */
export type FetchForClient = (
  url: string,
  options: { isKept: boolean; network?: string },
) => ReturnType<FetchDocument>;

function isRefused(error: unknown): boolean {
  return (error as { isRefused?: boolean }).isRefused === true;
}

interface DocumentRecord extends Expiring {
  document: unknown;
  fetchedAt: number;
  freshUntil: number;
}

/**
 * The maximum number of documents in memory: with 16 KiB each, as much as one
 * large body.
 */
const MAX_UNUSED = 250;

/** The seconds for which a failed fetch is not repeated. */
const FAILURE_SECONDS = 10;
const MAX_FAILURES = 1000;

/**
 * A document; or the error of its fetch, with the stale document if one is
 * stored.
 */
type Lookup =
  | { document: unknown }
  | { error: unknown; older?: DocumentRecord };

interface LookupOptions {
  /**
   * True if a stale copy is accepted while the host does not respond, because a
   * grant depends on it.
   */
  stale?: boolean;
  /** The network that the request came from, if known. */
  network?: string;
}

export type DocumentStore = ReturnType<typeof documentStore>;

/** Makes the store of documents, which fetches those that are not fresh. */
export function documentStore(
  database: Database,
  fetchDocument: FetchForClient,
) {
  const lookups = new Map<string, Promise<Lookup>>();
  /** Documents of clients that no one has signed in with. */
  const unused = new LatestMap<DocumentRecord>(MAX_UNUSED);

  const failures = new LatestMap<{ error: unknown }>(MAX_FAILURES);

  function save(url: string, record: DocumentRecord): Promise<unknown> {
    return database.commit((transaction) =>
      transaction.set(documentKey(url), record)
    );
  }

  async function fetchRecord(
    url: string,
    options: Parameters<FetchForClient>[1],
  ): Promise<DocumentRecord> {
    const { document, expiresAt } = await fetchDocument(url, options);
    const time = database.now();
    const { min, max } = DOCUMENT_FRESH_SECONDS;
    return {
      document,
      fetchedAt: time,
      freshUntil: Math.min(Math.max(expiresAt, time + min), time + max),
      expiresAt: time + DOCUMENT_TTL_SECONDS,
    };
  }

  async function lookUp(
    url: string,
    isGood: (kept: DocumentRecord) => boolean,
    network: string | undefined,
  ): Promise<Lookup> {
    const kept = await database.find<DocumentRecord>(documentKey(url));
    const older = kept?.value ?? unused.get(url);
    if (older && isGood(older)) return older;
    const failure = failures.get(url);
    if (failure) return { ...failure, older };
    let record: DocumentRecord;
    try {
      record = await fetchRecord(url, { isKept: kept !== undefined, network });
    } catch (error) {
      // Not remembered as a failure: another network may still fetch the
      // document.
      if (isRefused(error)) return { error, older };
      failures.set(url, { error }, FAILURE_SECONDS * 1000);
      return { error, older };
    }
    if (kept) await save(url, record);
    else unused.set(url, record);
    return record;
  }

  /**
   * Lets simultaneous lookups of one URL share a read and a fetch. If the fetch
   * was refused because of the first lookup's network, the next lookup fetches
   * for its own network.
   */
  async function share(
    purpose: "find" | "renew",
    url: string,
    isGood: (kept: DocumentRecord) => boolean,
    { stale = false, network }: LookupOptions,
  ): Promise<unknown> {
    const name = `${purpose} ${url}`;
    for (;;) {
      const shared = lookups.get(name);
      const pending = shared ??
        lookUp(url, isGood, network).finally(() => lookups.delete(name));
      if (!shared) lookups.set(name, pending);
      const lookup = await pending;
      if ("document" in lookup) return lookup.document;
      if (lookup.older && stale) return lookup.older.document;
      if (!shared || !isRefused(lookup.error)) throw lookup.error;
    }
  }

  return {
    /** Finds the document at a URL. @throws the error of the fetch */
    find(url: string, options: LookupOptions = {}): Promise<unknown> {
      const isFresh = ({ freshUntil }: DocumentRecord) => {
        const left = freshUntil - database.now();
        // A document is never fresh for longer than that, unless the clock was
        // set back.
        return left > 0 && left <= 2 * DOCUMENT_FRESH_SECONDS.max;
      };
      return share("find", url, isFresh, options);
    },

    /**
     * Fetches a document again because the cached one lacks a key, at most once
     * a minute for each URL.
     */
    renew(url: string, network?: string): Promise<unknown> {
      const isNew = ({ fetchedAt }: DocumentRecord) =>
        Math.abs(database.now() - fetchedAt) < DOCUMENT_COOLDOWN_SECONDS;
      return share("renew", url, isNew, { stale: true, network });
    },

    /**
     * Stores the client ID metadata document at a URL, because someone has
     * signed in with the client that it describes.
     */
    async keep(url: string): Promise<void> {
      const record = unused.get(url);
      if (!record) return;
      await save(url, record);
      unused.delete(url);
    },
  };
}
