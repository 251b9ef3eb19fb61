/**
 * The ends of sessions, for those who collect telemetry. Several processes may
 * end a session at the same time: the one that writes this down first tells it.
 *
 * @module
 */
import { telemetry } from "../telemetry.ts";
import {
  type Database,
  type Expiring,
  type Found,
  isFound,
} from "./database.ts";
import { listedSessionKey, sessionEndKey } from "./keys.ts";
import type { Write } from "./transaction.ts";

/** Far longer than two ends of one session can lie apart. */
const TOLD_SECONDS = 60 * 60;

/** What has to be known of a session. */
interface Session extends Expiring {
  revision: string;
  startedMilliseconds?: number;
}

/** Who ended a session: its client, or what allowed it ended. */
type Outcome = "ok" | "stopped";

/** Sessions that are about to end. */
export interface EndingSessions {
  /** What ends them. */
  write: Write;
  /** To be called when they have ended. */
  tell(): void;
}

/** Tells of sessions that have ended. */
export function sessionEnds(database: Database) {
  /** Tells, in a moment, of sessions as they were before their end. */
  function tell(ended: readonly Found<Session>[], outcome: Outcome): void {
    if (!telemetry) return;
    const endedMilliseconds = database.clock();
    database.background(async () => {
      for (const { key: session, value } of ended) {
        const { startedMilliseconds, revision } = value;
        // Begun under version 0.2 or before.
        if (startedMilliseconds === undefined) continue;
        const key = sessionEndKey(session);
        const isFirst = await database.commit((transaction) =>
          transaction.check({ key, versionstamp: null })
            .set(key, { expiresAt: database.now() + TOLD_SECONDS })
        );
        if (!isFirst) continue;
        const milliseconds = endedMilliseconds - startedMilliseconds;
        telemetry?.tellSession({ revision, outcome, milliseconds });
      }
    });
  }

  return {
    tell,

    /** @param listed where the sessions are listed that are about to end */
    async begin(listed: readonly Deno.KvKey[]): Promise<EndingSessions> {
      const keys = listed.map(listedSessionKey);
      const sessions = telemetry ? await database.getMany<Session[]>(keys) : [];
      return {
        write: (transaction) => transaction.delete(...listed, ...keys),
        tell: () => tell(sessions.filter(isFound), "stopped"),
      };
    },
  };
}
