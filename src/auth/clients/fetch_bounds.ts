/**
 * Bounds on fetches from addresses that strangers choose, and their failures:
 * anyone may name a metadata document, at any host, as often as they like.
 *
 * @module
 */
import { Buckets } from "../../http/buckets.ts";
import type { Clock } from "../../clock.ts";
import type { FetchDocument, FetchForClient } from "../../store/documents.ts";

/** The most fetches at once, from all hosts and from one. */
const AT_ONCE = { all: 16, host: 4 };

/** The most fetches a minute, from all hosts and from one. */
const A_MINUTE = { all: 120, host: 30 };

const ALL = "all";

/**
 * Bounds the fetches of documents that no one has signed in with. A document
 * that is kept is fetched seldom anyway, and no stranger can keep it away.
 */
export function boundedFetch(
  fetchDocument: FetchDocument,
  { clock }: { clock: Clock },
): FetchForClient {
  const perMinute = (count: number) =>
    new Buckets({ burst: count, perSecond: count / 60 });
  const everyone = perMinute(A_MINUTE.all);
  const hosts = perMinute(A_MINUTE.host);
  const open = new Map<string, number>();
  let count = 0;

  function take(host: string): void {
    const time = clock();
    const isBusy = count >= AT_ONCE.all ||
      (open.get(host) ?? 0) >= AT_ONCE.host ||
      // A host that is asked too often takes nothing from the others.
      hosts.take(host, time) > 0 || everyone.take(ALL, time) > 0;
    if (isBusy) {
      throw new DocumentError({ cause: new Error("Too many are fetched") });
    }
    count++;
    open.set(host, (open.get(host) ?? 0) + 1);
  }

  function giveBack(host: string): void {
    count--;
    const rest = open.get(host)! - 1;
    if (rest > 0) open.set(host, rest);
    else open.delete(host);
  }

  return async (url, { isKept }) => {
    if (isKept) return await fetchDocument(url);
    const { host } = new URL(url);
    take(host);
    try {
      return await fetchDocument(url);
    } finally {
      giveBack(host);
    }
  };
}

/**
 * A document could not be fetched. The message is the same whatever happened,
 * so that no one can use us to probe a network; only `isPermanent` differs. The
 * log finds the reason in `cause`.
 */
export class DocumentError extends Error {
  override name = "DocumentError";
  /** True if the host answered, but not with a document. */
  readonly isPermanent: boolean;
  constructor(options: ErrorOptions) {
    super("The document could not be fetched", options);
    this.isPermanent = options.cause instanceof NoDocument;
  }
}

/** An answer that cannot be used, now or later. */
export class NoDocument extends Error {
  override name = "NoDocument";
}
