/**
 * The ends of sessions, for telemetry. Several processes may end a session at
 * the same time: the first one to write this record reports it.
 *
 * @module
 */
import { telemetry } from "../telemetry/current.ts";
import {
  type Database,
  type Expiring,
  type Found,
  isFound,
} from "./database.ts";
import { listedSessionKey, sessionEndKey } from "./keys.ts";
import type { Write } from "./transaction.ts";

/**
 * The lifetime of the record: far longer than the time between two ends of one
 * session.
 */
const TOLD_SECONDS = 60 * 60;

/** The members of a session that a report needs. */
interface Session extends Expiring {
  revision: string;
  startedMilliseconds: number;
}

/** The reason of a session's end: its client, or the end of its permission. */
type Outcome = "ok" | "stopped";

/** Sessions that are about to end. */
export interface EndingSessions {
  /** Ends them, as part of a commit. */
  write: Write;
  /** Reports them; to be called when they have ended. */
  tell(): void;
}

/** Reports sessions that have ended. */
export function sessionEnds(database: Database) {
  /** Reports sessions in the background, as they were before their end. */
  function tell(ended: readonly Found<Session>[], outcome: Outcome): void {
    if (!telemetry) return;
    const endedMilliseconds = database.clock();
    database.background(async () => {
      for (const { key: session, value } of ended) {
        const { startedMilliseconds, revision } = value;
        const key = sessionEndKey(session);
        const isFirst = await database.commit((transaction) =>
          transaction.create(key, {
            expiresAt: database.now() + TOLD_SECONDS,
          })
        );
        if (!isFirst) continue;
        const milliseconds = endedMilliseconds - startedMilliseconds;
        telemetry?.tellSession({ revision, outcome, milliseconds });
      }
    });
  }

  return {
    tell,

    /** @param listed the list entries of the sessions that are about to end */
    async begin(listed: readonly Deno.KvKey[]): Promise<EndingSessions> {
      const keys = listed.map(listedSessionKey);
      const sessions = telemetry ? await database.getMany<Session[]>(keys) : [];
      return {
        write(transaction) {
          transaction.delete(...listed);
          for (const key of keys) transaction.end(key, database.now());
        },
        tell: () => tell(sessions.filter(isFound), "stopped"),
      };
    },
  };
}
