/**
 * The ledger: the latest tool calls of each connection, for its person. A call
 * itself writes nothing: finished calls are collected in memory, and every few
 * seconds one commit writes those of many connections. Some older failures are
 * kept, so that a busy client does not displace them.
 *
 * @module
 */
import { isFailure, type Logger, type Outcome } from "../../core/log/log.ts";
import {
  type Grant,
  hasSingleToken,
  ledgerIdOf,
} from "../../core/oauth/grant.ts";
import { outsideTrace } from "../../core/telemetry/current.ts";
import {
  type Database,
  type Entry,
  type Expiring,
  MAX_CHECKS,
} from "../../core/kv/database.ts";
import { grantKey, ledgerKey } from "../../core/kv/keys.ts";
import { makeOncePerServer } from "../../core/store/opened_server.ts";

/**
 * The calls of one tool within an hour with the same outcome, without
 * arguments.
 */
export interface LedgerEntry {
  /** The start of the latest of these calls, in epoch seconds. */
  at: number;
  /** The start of the first of these calls, in epoch seconds. */
  firstAt: number;
  tool: string;
  outcome: Outcome;
  count: number;
}

export type EndedCall = Pick<LedgerEntry, "at" | "tool" | "outcome">;

const LATEST = 40;
const OLDER_FAILURES = 10;

/** The maximum number of entries of one connection. */
export const MAX_LEDGER_ENTRIES = LATEST + OLDER_FAILURES;

/**
 * The seconds within which calls of one tool with the same outcome share an
 * entry.
 */
const TOGETHER_SECONDS = 60 * 60;

/**
 * Adds a call to the list of unwritten calls, oldest first. Usually this takes
 * one or two comparisons.
 */
export function addCall(
  waiting: LedgerEntry[],
  { at, tool, outcome }: EndedCall,
): void {
  const call: LedgerEntry = { at, firstAt: at, tool, outcome, count: 1 };
  if (mergeIntoEntry(waiting, call)) return;
  waiting.push(call);
  if (waiting.length < 2 * MAX_LEDGER_ENTRIES) return;
  waiting.splice(0, Infinity, ...listCalls(waiting, 0).reverse());
}

/**
 * Lists the calls to store, newest first: the latest ones, and the latest
 * failures among the others.
 *
 * @param oldest the epoch second before which calls are dropped
 */
export function listCalls(
  calls: readonly LedgerEntry[],
  oldest: number,
): LedgerEntry[] {
  const list: LedgerEntry[] = [];
  for (const call of calls.toSorted((one, other) => other.at - one.at)) {
    if (call.at < oldest) break;
    if (!mergeIntoEntry(list, call)) list.push(call);
  }
  const failures = list.slice(LATEST).filter(({ outcome }) =>
    isFailure(outcome)
  );
  return [...list.slice(0, LATEST), ...failures.slice(0, OLDER_FAILURES)];
}

/** Sorts failures first, each group newest first. */
export function failuresFirst<C extends Pick<LedgerEntry, "at" | "outcome">>(
  calls: readonly C[],
): C[] {
  const rank = ({ outcome }: C) => isFailure(outcome) ? 0 : 1;
  return calls.toSorted((one, other) =>
    rank(one) - rank(other) || other.at - one.at
  );
}

/**
 * Counts a call in the entry of the same tool, outcome and hour. Returns false
 * if there is no such entry.
 */
function mergeIntoEntry(list: LedgerEntry[], call: LedgerEntry): boolean {
  const index = list.findLastIndex((other) => isSameEntry(other, call));
  if (index === -1) return false;
  const { at, firstAt, count } = list[index];
  list[index] = {
    ...call,
    at: Math.max(at, call.at),
    firstAt: Math.min(firstAt, call.firstAt),
    count: count + call.count,
  };
  return true;
}

function isSameEntry(one: LedgerEntry, other: LedgerEntry): boolean {
  return one.tool === other.tool && one.outcome === other.outcome &&
    Math.max(one.at, other.at) - Math.min(one.firstAt, other.firstAt) <
      TOGETHER_SECONDS;
}

/**
 * The time between writes. A process that dies loses the calls since its last
 * write.
 */
const WRITE_MILLISECONDS = 5000;

/**
 * The maximum number of grants with unwritten calls; calls of further grants
 * are dropped.
 */
const MAX_GRANTS = 10_000;

/** The maximum number of grants in one commit: each takes two checks. */
const GRANTS_PER_COMMIT = Math.floor(MAX_CHECKS / 2);

/** The maximum number of tries if other processes write at the same time. */
const TRIES = 5;

interface LedgerRecord extends Expiring {
  /** Newest first. */
  calls: readonly LedgerEntry[];
}

/** The calls that are not written yet, by grant ID. */
type WaitingCalls = Map<string, LedgerEntry[]>;

export type LedgerStore = ReturnType<typeof ledgerStore>;

/**
 * Opens the ledger of a database.
 *
 * @param options `keepSeconds`: how long a call is stored
 */
export function ledgerStore(
  database: Database,
  { keepSeconds, log }: { keepSeconds: number; log: Logger },
) {
  let waiting: WaitingCalls = new Map();
  let leftOut = 0;
  let isFailing = false;
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  /**
   * Writes the calls of some grants. Returns false if another process wrote at
   * the same time. Calls of ended grants are dropped.
   */
  async function tryWrite(some: WaitingCalls): Promise<boolean> {
    const grants = await database.getMany<Grant[]>(
      [...some.keys()].map((grantId) => grantKey(grantId)),
    );
    const live = grants.flatMap(({ value }) =>
      value?.status === "active" ? [value] : []
    );
    // A `client_credentials` client has one ledger but a grant for every token.
    const owners = [...Map.groupBy(live, ledgerIdOf)];
    if (owners.length === 0) return true;
    const ledgers = await database.getMany<LedgerRecord[]>(
      owners.map(([ledgerId]) => ledgerKey(ledgerId)),
    );
    const time = database.now();
    const oldest = time - keepSeconds;
    return await database.commit((transaction) => {
      // If a grant ends meanwhile, the commit fails. The next try finds the
      // grant ended, and drops its calls.
      transaction.check(...grants, ...ledgers);
      for (const [index, [, held]] of owners.entries()) {
        const { key, value } = ledgers[index];
        const added = held.flatMap(({ id }) => some.get(id)!);
        const record: LedgerRecord = {
          calls: listCalls([...added, ...value?.calls ?? []], oldest),
          // The ledger ends with its grant, unless the client's next grant
          // continues it.
          expiresAt: hasSingleToken(held[0])
            ? time + keepSeconds
            : Math.min(time + keepSeconds, held[0].expiresAt),
        };
        transaction.set(key, record);
      }
    }) !== undefined;
  }

  async function writeSome(some: WaitingCalls): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      if (await tryWrite(some)) return;
    }
    putBack(some);
  }

  async function write(): Promise<void> {
    const entries = [...waiting];
    waiting = new Map();
    if (leftOut > 0) {
      log.warning("Calls of too many connections for the ledger", { leftOut });
      leftOut = 0;
    }
    while (entries.length > 0) {
      const some = new Map(entries.splice(0, GRANTS_PER_COMMIT));
      try {
        await writeSome(some);
        isFailing = false;
      } catch (error) {
        putBack(some);
        putBack(new Map(entries));
        if (!isFailing || isClosed) {
          log.warning("Calls could not be stored", { error });
        }
        isFailing = true;
        return;
      }
    }
  }

  /** Puts calls back for the next write. */
  function putBack(some: WaitingCalls): void {
    for (const [grantId, calls] of some) {
      const since = waiting.get(grantId) ?? [];
      waiting.set(grantId, listCalls([...calls, ...since], 0).reverse());
    }
  }

  /** Writes the collected calls, one write at a time. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size > 0) writing = writing.then(write).then(startTimer);
    return writing;
  }

  function startTimer(): void {
    if (waiting.size === 0 || isClosed) return;
    timer ??= outsideTrace(() => setTimeout(flush, WRITE_MILLISECONDS));
  }

  return {
    /** Records a call of a grant, and writes it within seconds. */
    note(grantId: string, call: EndedCall): void {
      if (isClosed) return;
      const calls = waiting.get(grantId);
      if (calls) return addCall(calls, call);
      if (waiting.size >= MAX_GRANTS) return void leftOut++;
      waiting.set(grantId, [{ ...call, firstAt: call.at, count: 1 }]);
      startTimer();
    },

    /** Lists the calls of each ledger, newest first. */
    async list(ledgerIds: readonly string[]): Promise<LedgerEntry[][]> {
      await flush();
      const entries: readonly Entry<LedgerRecord>[] = await database.getMany<
        LedgerRecord[]
      >(ledgerIds.map(ledgerKey));
      const oldest = database.now() - keepSeconds;
      return entries.map(({ value }) => listCalls(value?.calls ?? [], oldest));
    },

    /** Writes the collected calls; those that cannot be written are lost. */
    async close(): Promise<void> {
      isClosed = true;
      await flush();
    },
  };
}

/** Returns the ledger of a server. Undefined if `OAUTH_LEDGER_DAYS` is 0. */
export const ledgerOf = makeOncePerServer(({ config, database, log }) => {
  const days = config.auth.oauth?.ledgerDays;
  return days
    ? ledgerStore(database, {
      keepSeconds: days * 86_400,
      log: log.logger("mcp"),
    })
    : undefined;
});
