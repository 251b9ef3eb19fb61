/**
 * The revocation of people's tokens at their services, once they are deleted
 * here or replaced: by any process that has the keys, until it is done or three
 * days are over.
 *
 * @see RFC 7009
 * @module
 */
import type { Sealing } from "../../core/crypto/sealing.ts";
import { type Logger, logRepeated } from "../../core/log/log.ts";
import type { Database, Found } from "../../core/kv/database.ts";
import { queuedTokens, revocationQueue } from "./revocation_queue.ts";
import type { RevocationRecord } from "./revocation_record.ts";
import type { AccountClient } from "./account_client.ts";
import { UpstreamError } from "../../core/provider/provider.ts";

/** The time for which a service that has not answered is left alone. */
const SILENT_MILLISECONDS = 30_000;

type Queued = Found<RevocationRecord>;

/** Makes the function that revokes tokens of the queue. */
export function accountRevocation({ sealing, clients, database, log }: {
  sealing: Sealing;
  clients: ReadonlyMap<string, AccountClient>;
  database: Database;
  log: Logger;
}): (due: readonly Queued[]) => Promise<void> {
  const queue = revocationQueue(database);
  const tokens = queuedTokens(database, sealing);

  /** The services that have not answered, and when, by `performance.now()`. */
  const silent = new Map<string, number>();

  /** Tries once. @throws {Error} if the service does not answer */
  async function revoke(taken: Queued): Promise<void> {
    const { service, application } = taken.value;
    const client = clients.get(service);
    // An older process may have it, or a release that is taken back.
    if (client?.id !== application) {
      throw new Error("This server has no such application at the service");
    }
    // One that does not answer holds up the revocations of no other.
    const silence = performance.now() - (silent.get(service) ?? -Infinity);
    if (silence < SILENT_MILLISECONDS) {
      throw new Error(`${service} has not answered just now`);
    }
    try {
      const text = await client.canRevoke()
        ? await tokens.open(taken)
        : undefined;
      if (text !== undefined) await client.revoke(JSON.parse(text));
    } catch (error) {
      const kind = error instanceof UpstreamError ? error.kind : undefined;
      if (kind === "unavailable") silent.set(service, performance.now());
      // The service does not know them any more.
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

  // One that the database lost from sight is due again after its lease.
  return async (due) => void await Promise.allSettled(due.map(attempt));
}
