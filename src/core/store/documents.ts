/**
 * Documents that clients publish: client ID metadata and key sets, fetched as
 * seldom as their HTTP headers allow. Anyone can name an address, so the
 * database holds only those of clients that someone has signed in with. Others
 * are only in memory, up to a limit.
 *
 * @module
 */
import {
  DOCUMENT_COOLDOWN_SECONDS,
  DOCUMENT_FRESH_SECONDS,
  DOCUMENT_TTL_SECONDS,
} from "../oauth/lifetimes.ts";
import { LatestMap } from "../latest_map.ts";
import type { Database, Expiring } from "../kv/database.ts";
import { documentKey } from "../kv/keys.ts";

/**
 * Fetches a document from an address that a stranger chose. `expiresAt` is the
 * time at which it has to be fetched again, in epoch seconds.
 */
export type FetchDocument = (
  url: string,
) => Promise<{ document: unknown; expiresAt: number }>;

/**
 * Fetches a document. `isKept`: true if someone has signed in with the client
 * that publishes it. `network`: the name of the network that asks, if known.
 *
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
 * The most documents in memory: with 16 KiB each, as much as one large body.
 */
const MAX_UNUSED = 250;

/** The time for which a failed fetch is not repeated, in seconds. */
const FAILURE_SECONDS = 10;
const MAX_FAILURES = 1000;

/**
 * The result of a look-up: a document; or the failure, with the older document
 * if there is one.
 */
type Lookup =
  | { document: unknown }
  | { error: unknown; older?: DocumentRecord };

interface LookupOptions {
  /**
   * True if an older copy is enough where the host does not answer, because a
   * grant depends on it.
   */
  stale?: boolean;
  /** The name of the network that asks, if it is known. */
  network?: string;
}

export type DocumentStore = ReturnType<typeof documentStore>;

/** Documents by their address, fetched when they are not fresh. */
export function documentStore(
  database: Database,
  fetchDocument: FetchForClient,
) {
  const lookups = new Map<string, Promise<Lookup>>();
  /** Documents of clients that no one has signed in with. */
  const unused = new LatestMap<DocumentRecord>(MAX_UNUSED);

  /** Recent failures. */
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
      // Another network may still fetch it.
      if (isRefused(error)) return { error, older };
      failures.set(url, { error }, FAILURE_SECONDS * 1000);
      return { error, older };
    }
    if (kept) await save(url, record);
    else unused.set(url, record);
    return record;
  }

  /**
   * Makes simultaneous look-ups of one address share a read and a fetch. If the
   * fetch is refused to the network of the first look-up, the next look-up
   * tries.
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
    /** Finds the document at an address. @throws whatever the fetch throws */
    find(url: string, options: LookupOptions = {}): Promise<unknown> {
      const isFresh = ({ freshUntil }: DocumentRecord) => {
        const left = freshUntil - database.now();
        // More time than a document ever gets: the clock was set back.
        return left > 0 && left <= 2 * DOCUMENT_FRESH_SECONDS.max;
      };
      return share("find", url, isFresh, options);
    },

    /**
     * Fetches the document anew, because something is missing in the stored
     * one. At most once a minute for one address.
     */
    renew(url: string, network?: string): Promise<unknown> {
      const isNew = ({ fetchedAt }: DocumentRecord) =>
        Math.abs(database.now() - fetchedAt) < DOCUMENT_COOLDOWN_SECONDS;
      return share("renew", url, isNew, { stale: true, network });
    },

    /** Stores the document of a client with which someone has signed in. */
    async keep(url: string): Promise<void> {
      const record = unused.get(url);
      if (!record) return;
      await save(url, record);
      unused.delete(url);
    },
  };
}
