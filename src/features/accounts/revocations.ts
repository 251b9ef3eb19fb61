/**
 * The revocations that are due, which each process looks for: with its start,
 * three times a minute, and after it has added some itself.
 *
 * @module
 */
import type { accountRevocation } from "./account_revocation.ts";
import type { Database } from "../../core/kv/database.ts";
import { revocationQueue } from "./revocation_queue.ts";
import { outsideTrace } from "../../core/telemetry/current.ts";
import type { AccountClient } from "./account_client.ts";
import type { Sealing } from "../../core/crypto/sealing.ts";
import type { Logger } from "../../core/log/log.ts";

/** With the lease of a process that has died, a minute. */
const POLL_MILLISECONDS = 20_000;

type Revoke = ReturnType<typeof accountRevocation>;

/** Loaded with the first request, and the first that are added. */
export class Revocations {
  #isTimed = false;
  #polledMilliseconds = -Infinity;
  #revoking?: Promise<Revoke>;
  #polling?: Promise<void>;
  /** True if some were added since the last read began. */
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
   * Revokes what is due, three times a minute from now on: by a timer, and with
   * each request, because some platforms stop timers between requests.
   */
  async notice(): Promise<void> {
    const passed = performance.now() - this.#polledMilliseconds;
    if (passed < POLL_MILLISECONDS) return;
    if (!this.#isTimed) outsideTrace(() => this.#setTimer());
    await this.poll();
  }

  /** Revokes what is due. Simultaneous calls share one poll. */
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

  /** Loads our clients at the services, with the first tokens that are due. */
  #load(): Promise<Revoke> {
    return this.#revoking ??= (async () => {
      const { sealing, server: { database }, log } = this.accounts;
      const [clients, { accountRevocation }] = await Promise.all([
        this.accounts.clients(),
        import("./account_revocation.ts"),
      ]);
      return accountRevocation({ sealing: sealing!, clients, database, log });
    })().catch((error) => {
      this.#revoking = undefined;
      throw error;
    });
  }
}
