/**
 * Revokes people's tokens at services after they were deleted or replaced here.
 * Any process with the encryption keys tries for up to three days: at its
 * start, three times a minute, and after it queued tokens.
 *
 * @module
 * @see RFC 7009
 */
import { makeOnce } from "../../core/cache.ts";
import type { Database, Found } from "../../core/kv/database.ts";
import { queuedTokens, revocationQueue } from "./revocation_queue.ts";
import { outsideTrace } from "../../core/telemetry/current.ts";
import type { AccountClient } from "./account_client.ts";
import type { Sealing } from "../../core/crypto/sealing.ts";
import { type Logger, logRepeated } from "../../core/log/log.ts";
import type { RevocationRecord } from "./revocation_record.ts";
import {
  UpstreamError,
  type UpstreamTokens,
} from "../../core/provider/provider.ts";

/**
 * The time between polls. If a process dies with an entry, another process
 * tries the entry within a minute.
 */
const POLL_MILLISECONDS = 20_000;

/**
 * Revokes queued tokens. Loaded with the first queued tokens or the first
 * request.
 */
export class Revocations {
  #isTimed = false;
  #polledMilliseconds = -Infinity;
  #polling?: Promise<void>;
  /** True if tokens were queued since the last read began. */
  #hasMore = false;

  private readonly database: Database;

  constructor(
    private readonly accounts: {
      server: { database: Database };
      sealing?: Sealing;
      log: Logger;
      clients(): Promise<ReadonlyMap<string, AccountClient>>;
    },
  ) {
    this.database = accounts.server.database;
  }

  /**
   * Revokes queued tokens now and three times a minute from then on. Requests
   * do this in addition to a timer, because some platforms stop timers between
   * requests.
   */
  async notice(): Promise<void> {
    const passed = performance.now() - this.#polledMilliseconds;
    if (passed < POLL_MILLISECONDS) return;
    if (!this.#isTimed) outsideTrace(() => this.#setTimer());
    await this.poll();
  }

  /** Revokes queued tokens. Simultaneous calls share one poll. */
  async poll(): Promise<void> {
    this.#hasMore = true;
    await (this.#polling ??= this.#poll());
  }

  #setTimer(): void {
    const { database } = this;
    this.#isTimed = true;
    if (database.closing.aborted) return;
    const timer = setInterval(
      () => database.background(() => this.poll()),
      POLL_MILLISECONDS,
    );
    database.closing.addEventListener("abort", () => clearInterval(timer));
  }

  async #poll(): Promise<void> {
    const { database } = this;
    try {
      while (this.#hasMore && !database.closing.aborted) {
        this.#hasMore = false;
        this.#polledMilliseconds = performance.now();
        for await (const due of revocationQueue(database).read()) {
          if (due.length > 0) await (await this.#load())(due);
          if (database.closing.aborted) return;
        }
      }
    } finally {
      this.#polling = undefined;
    }
  }

  /** Loads our OAuth clients with the first tokens to revoke. */
  readonly #load = makeOnce(async () => {
    const { database, accounts: { sealing, log } } = this;
    const clients = await this.accounts.clients();
    return accountRevocation({ sealing: sealing!, clients, database, log });
  });
}

/** The time for which a service that did not respond is not tried again. */
const SILENT_MILLISECONDS = 30_000;

type Queued = Found<RevocationRecord>;

/** Makes the function that revokes queued tokens. */
export function accountRevocation({ sealing, clients, database, log }: {
  sealing: Sealing;
  clients: ReadonlyMap<string, AccountClient>;
  database: Database;
  log: Logger;
}): (due: readonly Queued[]) => Promise<void> {
  const queue = revocationQueue(database);
  const tokens = queuedTokens(database, sealing);

  /** The times at which services did not respond, by `performance.now()`. */
  const silent = new Map<string, number>();

  /** Tries one revocation. @throws {Error} if the service does not respond */
  async function revoke(taken: Queued): Promise<void> {
    const { service, application } = taken.value;
    const client = clients.get(service);
    // A process with older or newer settings may have this OAuth client.
    if (client?.id !== application) {
      throw new Error("This server has no such application at the service");
    }
    // A silent service must not delay the revocations at others.
    const silence = performance.now() - (silent.get(service) ?? -Infinity);
    if (silence < SILENT_MILLISECONDS) {
      throw new Error(`${service} has not answered just now`);
    }
    try {
      const text = await tokens.open(taken);
      if (text === undefined) return;
      const issued: UpstreamTokens = JSON.parse(text);
      if (await client.canRevoke(issued)) await client.revoke(issued);
    } catch (error) {
      const kind = error instanceof UpstreamError ? error.kind : undefined;
      if (kind === "unavailable") silent.set(service, performance.now());
      // `dead`: the service no longer knows the tokens, as if revoked.
      if (kind !== "dead") throw error;
    }
  }

  async function attempt(found: Queued): Promise<void> {
    const taken = await queue.take(found);
    if (!taken) return;
    try {
      await revoke(taken);
    } catch (error) {
      const { service } = taken.value;
      const isLater = await queue.putOff(taken);
      if (isLater) {
        logRepeated(log, "Tokens of an account could not be revoked yet", {
          service,
          error,
        });
        return;
      }
      log.warning("Tokens of an account could not be revoked in three days", {
        service,
        error,
      });
    }
    await queue.drop(taken);
  }

  // If an entry cannot be written, it is tried again after its lease.
  return async (due) => void await Promise.allSettled(due.map(attempt));
}
