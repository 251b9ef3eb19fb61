/**
 * The revocation of people's tokens at their services, once they are deleted
 * here or replaced: by any process that has the keys, until it is done or three
 * days are over.
 *
 * @see RFC 7009
 * @module
 */
import type { Sealing } from "../../crypto/sealing.ts";
import { type Logger, logRepeated } from "../../log/log.ts";
import type { Database, Found } from "../../store/database.ts";
import { queuedTokens, revocationQueue } from "../../store/revocation_queue.ts";
import type { RevocationRecord } from "../../store/revocations.ts";
import type { AccountClient } from "./account_client.ts";
import { UpstreamError } from "./provider.ts";

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

  /** Tries once. */
  async function revoke(taken: Queued): Promise<void> {
    const { service, application } = taken.value;
    const client = clients.get(service);
    if (client?.id !== application) {
      log.warning(
        "Tokens of an account were not revoked: this server has no such " +
          "application at the service any more",
        { service },
      );
      return;
    }
    const text = client.revokes ? await tokens.open(taken) : undefined;
    if (text === undefined) return;
    await client.revoke(JSON.parse(text)).catch((error) => {
      // The service does not know them any more.
      const isDead = error instanceof UpstreamError && error.kind === "dead";
      if (!isDead) throw error;
    });
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
