/**
 * The record of a run of durable work, and the claim of the process that does
 * it.
 *
 * @module
 */
import { DURABLE_SECONDS } from "../../authoring/durable.ts";
import type { McpClient } from "../../authoring/context.ts";
import type { Caller } from "../../core/caller.ts";
import { HttpError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { invalidParams } from "../../core/protocol/messages.ts";
import type { BegunNeeds } from "../../core/mcp/exchange/needs.ts";
import type {
  Database,
  Expiring,
  KeyRange,
  Transaction,
} from "../../core/kv/database.ts";
import {
  dueWakesRange,
  partsOfWake,
  taskRunKey,
  wakeKey,
  wakesOfLaterAddresses,
  wakesOfSameAddress,
} from "../../core/kv/keys.ts";
import { saveText, type TextRef } from "../../core/kv/texts.ts";

/**
 * The age in seconds at which a lease looks overdue. After two more missed
 * heartbeats it expires.
 */
export const LEASE_WATCH_SECONDS = 20;
/**
 * The maximum length in characters of a {@linkcode RunBeginning} that is stored
 * in the run's own record.
 */
const MAX_INLINE_CHARACTERS = 4000;
/**
 * The maximum length in characters of a {@linkcode RunBeginning}, most of which
 * the client wrote.
 */
export const MAX_BEGINNING_CHARACTERS = 256 * 1024;

/** The call that durable work began with. */
export interface RunBeginning {
  input: JsonObject;
  prepared?: unknown;
  begun?: BegunNeeds;
  client: McpClient;
  meta: JsonObject;
}

export interface NewRun {
  tool: string;
  /** The version of the tool's steps; 1 by default. */
  version?: number;
  scopes: readonly string[];
  needsAccounts?: true;
  caller: Caller;
  /** The seconds for which the ended task is stored. */
  keep: number;
  /**
   * The server address at which the caller signed in; only servers at this
   * address do the run. Empty if any server may.
   */
  address: string;
  /** The identity by which limits count the caller. */
  limitKey?: { name: string; isMany: boolean };
}

/**
 * The size of a run's stored results. If the run's process has died, both
 * numbers are counted from the stored steps. Parking stores only `characters`.
 */
export interface RunSize {
  /** The number of ended steps. */
  kept: number;
  /** The characters of their results. */
  characters: number;
}

export interface RunRecord extends Expiring, NewRun, RunSize {
  beginning: TextRef;
  createdMilliseconds: number;
  isParked: boolean;
  /** The number of processes that died in a row without ending a step. */
  deaths: number;
  /**
   * The time since which no process that claimed the run had its tool and
   * steps.
   */
  missingSince?: number;
  /** The time since which each look has found its caller paused. */
  pausedSince?: number;
}

/** The right of this process to do a run, until the lease expires. */
export interface Claim {
  readonly taskId: string;
  readonly run: Readonly<RunRecord>;
  /**
   * The version of the run's record; every commit under this claim checks it.
   */
  readonly term: Deno.AtomicCheck;
  readonly expiresAt: number;
  /**
   * The time at which other processes check if the claim's process has died.
   */
  dueSeconds: number;
  /** A time just before the latest renewal, by `performance.now()`. */
  renewedMilliseconds: number;
  /** The characters of all stored results. */
  characters: number;
}

/**
 * Makes the record of a new run.
 *
 * @throws {HttpError} 413 if its {@linkcode RunBeginning} is too long
 * @throws {RpcError} -32602 if it has a number that JSON cannot express
 */
export async function newRun(
  database: Database,
  run: NewRun,
  beginning: RunBeginning,
): Promise<RunRecord> {
  const text = JSON.stringify(beginning, (_, it) => {
    // `JSON.parse` makes `Infinity` of 1e400, which would become null.
    if (it === Infinity || it === -Infinity) {
      throw invalidParams("A number is too large");
    }
    return it;
  });
  if (text.length > MAX_BEGINNING_CHARACTERS) {
    throw new HttpError(
      413,
      `The input of durable work must have at most ${MAX_BEGINNING_CHARACTERS} ` +
        "characters of JSON",
    );
  }
  const expiresAt = database.now() + DURABLE_SECONDS;
  return {
    ...run,
    beginning: await saveText(database, text, {
      expiresAt,
      inlineCharacters: MAX_INLINE_CHARACTERS,
    }),
    createdMilliseconds: database.clock(),
    isParked: false,
    deaths: 0,
    kept: 0,
    characters: 0,
    expiresAt,
  };
}

/** Makes the claim of the process that wrote this version of a run's record. */
export function claimOf(
  taskId: string,
  run: RunRecord,
  versionstamp: string,
  renewal: Pick<Claim, "dueSeconds" | "renewedMilliseconds">,
): Claim {
  const term = { key: taskRunKey(taskId), versionstamp };
  const { expiresAt, characters } = run;
  return { taskId, run, term, expiresAt, characters, ...renewal };
}

export function renewalAt(
  now: number,
): Pick<Claim, "dueSeconds" | "renewedMilliseconds"> {
  return {
    dueSeconds: now + LEASE_WATCH_SECONDS,
    renewedMilliseconds: performance.now(),
  };
}

/** The name of the list that limits a run's waits. */
export function listOfWaits(
  { caller: { subject }, limitKey }: Pick<NewRun, "caller" | "limitKey">,
): string {
  // No subject has this form, whatever names issuers give people.
  return limitKey?.isMany ? JSON.stringify(["many", limitKey.name]) : subject;
}

/**
 * The database key by which other processes find a run whose process has died.
 */
export function wakeOf({ run, dueSeconds, taskId }: Claim): Deno.KvKey {
  return wakeKey(run.address, dueSeconds, taskId);
}

export function deleteRun(
  transaction: Transaction,
  taskId: string,
  claim?: Claim,
): void {
  transaction.delete(taskRunKey(taskId));
  if (claim) transaction.check(claim.term).delete(wakeOf(claim));
}

/** The record of a time at which some process resumes or checks a run. */
export interface Wake {
  taskId: string;
  dueSeconds: number;
  key: Deno.KvKey;
  versionstamp: string;
}

export function wakeStore(database: Database) {
  async function list(range: KeyRange, limit: number): Promise<Wake[]> {
    const { found } = await database.listSome<Expiring>(range, limit);
    return found.map(({ key, versionstamp }) => ({
      ...partsOfWake(key),
      key,
      versionstamp,
    }));
  }

  return {
    /**
     * Lists the oldest wakes whose time has come, with one bounded read for
     * each address of this process.
     *
     * @param until epoch seconds
     */
    async due(
      limit: number,
      addresses: readonly string[] = [""],
      until = database.now(),
    ): Promise<Wake[]> {
      const lists = await Promise.all(
        addresses.map((address) => list(dueWakesRange(address, until), limit)),
      );
      return oldestFirst(lists.flat()).slice(0, limit);
    },

    /**
     * Lists the oldest wakes of all addresses, including those in the future.
     */
    async all(limit: number): Promise<Wake[]> {
      let oldest: Wake[] = [];
      let last: Deno.KvKey | undefined;
      // One address after another: within an address the keys are in order of
      // time.
      for (;;) {
        ({ last } = await database.listSome(wakesOfLaterAddresses(last), 1));
        if (!last) return oldest;
        const more = await list(wakesOfSameAddress(last), limit);
        oldest = oldestFirst([...oldest, ...more]).slice(0, limit);
      }
    },

    /** Deletes a wake, unless it was set again. */
    async drop(wake: Wake): Promise<void> {
      await database.commit((transaction) =>
        transaction.check(wake).delete(wake.key)
      );
    },
  };
}

function oldestFirst(wakes: Wake[]): Wake[] {
  return wakes.sort((a, b) => a.dueSeconds - b.dueSeconds);
}

/** Unfinished durable work, as operators see it. Times are epoch seconds. */
export interface WorkAhead
  extends Pick<RunRecord, "tool" | "isParked" | "deaths" | "missingSince"> {
  taskId: string;
  createdAt: number;
  /** The time at which a process checks the work. */
  dueSeconds: number;
}

/**
 * Lists everyone's durable work, the most overdue first, without inputs and
 * results.
 *
 * @param most the maximum number of wakes to read, each with its run
 * @returns `hasMore` if there may be more
 */
export async function workAhead(
  database: Database,
  most: number,
): Promise<{ work: WorkAhead[]; hasMore: boolean }> {
  const wakes = await wakeStore(database).all(most);
  const first = new Map(
    wakes.toReversed().map(({ taskId, dueSeconds }) => [taskId, dueSeconds]),
  );
  const due = [...first].sort(([, one], [, other]) => one - other);
  const runs = await database.getMany<RunRecord[]>(
    due.map(([taskId]) => taskRunKey(taskId)),
  );
  const work = due.flatMap(([taskId, dueSeconds], index) => {
    const { value: run } = runs[index];
    // The work of this wake has ended: the wake is superfluous.
    if (!run) return [];
    const { tool, createdMilliseconds, isParked, deaths, missingSince } = run;
    const createdAt = Math.floor(createdMilliseconds / 1000);
    const state = { isParked, deaths, missingSince };
    return [{ taskId, tool, createdAt, dueSeconds, ...state }];
  });
  return { work, hasMore: wakes.length >= most };
}
