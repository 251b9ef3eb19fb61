/**
 * The revocations that are due, which each process looks for: with its start,
 * three times a minute, and after it has added some itself.
 *
 * @module
 */
import type { accountRevocation } from "./account_revocation.ts";
import type { Database } from "../../core/kv/database.ts";
import { sealingOf } from "../../core/store/own_sealing.ts";
import { revocationQueue } from "./revocation_queue.ts";
import { outsideTrace } from "../../core/telemetry/current.ts";
import type { Plan } from "../../core/server/plan.ts";

/** With the lease of a process that has died, a minute. */
const POLL_MILLISECONDS = 20_000;

type Revoke = ReturnType<typeof accountRevocation>;

/** The revocations of each server, by its database. */
const all = new WeakMap<Database, Revocations>();

function revocationsOf(plan: Plan, database: Database): Revocations {
  let found = all.get(database);
  if (!found) all.set(database, found = new Revocations(plan, database));
  return found;
}

/**
 * Revokes what is due, three times a minute from now on: by a timer, and with each
 * request, because some platforms stop timers between requests.
 */
export async function notice(plan: Plan, database: Database): Promise<void> {
  await revocationsOf(plan, database).notice();
}

/** Revokes what is due. Simultaneous calls share one poll. */
export async function poll(plan: Plan, database: Database): Promise<void> {
  await revocationsOf(plan, database).poll();
}

class Revocations {
  #isTimed = false;
  #polledMilliseconds = -Infinity;
  #revoking?: Promise<Revoke>;
  #polling?: Promise<void>;
  /** True if some were added since the last read began. */
  #hasMore = false;

  constructor(
    private readonly plan: Plan,
    private readonly database: Database,
  ) {}

  async notice(): Promise<void> {
    const passed = performance.now() - this.#polledMilliseconds;
    if (passed < POLL_MILLISECONDS) return;
    if (!this.#isTimed) outsideTrace(() => this.#setTimer());
    await this.poll();
  }

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
      const [{ accountClients }, { accountRevocation }] = await Promise.all([
        import("./account_clients.ts"),
        import("./account_revocation.ts"),
      ]);
      const { plan: { accountServices, config, options }, database } = this;
      const log = this.plan.log.logger("oauth");
      const { secretsKeys } = config.auth.oauth!;
      return accountRevocation({
        sealing: sealingOf(secretsKeys, options.sealing, log)!,
        clients: accountClients(accountServices, config.own),
        database,
        log,
      });
    })().catch((error) => {
      this.#revoking = undefined;
      throw error;
    });
  }
}
