/**
 * The runs of durable work, and the claims on them. A process claims a run by
 * writing the run's record, and each later write for the work checks that
 * version. So a paused process can write nothing once another has taken over.
 *
 * @module
 */
import type {
  Database,
  Entry,
  Expiring,
  Transaction,
} from "../../core/kv/database.ts";
import {
  taskKey,
  taskLeaseKey,
  taskRunKey,
  tasksOfKey,
  waitsOfKey,
} from "../../core/kv/keys.ts";
import {
  isHeld,
  LAPSE_SECONDS,
  LEASE_SECONDS,
  setLease,
  type TaskLease,
  WatchedTaskLeases,
} from "../../core/kv/leases.ts";
import {
  type Claim,
  claimOf,
  LEASE_WATCH_SECONDS,
  listOfWaits,
  renewalAt,
  type RunBeginning,
  type RunRecord,
  type RunSize,
  type Wake,
  wakeOf,
} from "./run_record.ts";
import {
  isTerminal,
  nextUpdate,
  shortMessage,
  type TaskRecord,
} from "./task_record.ts";
import { readText, textKeysOf } from "../../core/kv/texts.ts";
import type { WaitRecord } from "../questions/wait_record.ts";
import { setWake } from "../../core/store/waiting_work.ts";

/** The claim on a run, or the reason why it was not claimed. */
export type ClaimAttempt =
  | { claim: Claim }
  | {
    /**
     * `held`: another process does the run. `watched`: that process may have
     * died, which a later try will find out.
     */
    because: "ended" | "held" | "watched" | "lost";
  };

/** True if a task's record was never changed. */
function isUntouched(task: TaskRecord): boolean {
  return task.updatedMilliseconds === task.createdMilliseconds;
}

export type TaskRunStore = ReturnType<typeof taskRunStore>;

/**
 * Opens the runs of a database.
 *
 * @param options `lapseSeconds`: the time for which an overdue lease is
 * watched before its run is taken over
 */
export function taskRunStore(
  database: Database,
  { lapseSeconds = LAPSE_SECONDS } = {},
) {
  const leases = new WatchedTaskLeases(database, lapseSeconds);

  /** Returns the reason not to take a run now. Undefined if it may be taken. */
  async function reasonToLeave(
    wake: Wake,
    task: Entry<TaskRecord>,
    { value: run }: Entry<RunRecord>,
    held: Entry<TaskLease>,
  ): Promise<"ended" | "held" | "watched" | undefined> {
    const { taskId, dueSeconds } = wake;
    if (!run || !task.value || isTerminal(task.value.status)) return "ended";
    if (run.isParked) return undefined;
    const hasLapsed = await leases.watch(taskId, held);
    // If the lease was renewed since this wake was set, a later wake exists.
    const renewedAt = isHeld(held) ? held.value!.expiresAt - LEASE_SECONDS : 0;
    if (renewedAt + LEASE_WATCH_SECONDS > dueSeconds) return "held";
    return isHeld(held) || !hasLapsed ? "watched" : undefined;
  }

  /**
   * Records that a task waits, and for what. Without `waitsFor`, records that
   * it has resumed.
   */
  function setWait(
    transaction: Transaction,
    task: Entry<TaskRecord>,
    { sleepsUntil, waitsFor }: Partial<TaskRecord> = {},
  ): void {
    const { key, value } = task;
    if (!value) return;
    const isSame = value.sleepsUntil === sleepsUntil &&
      value.waitsFor === waitsFor;
    if (isSame) return;
    const updatedMilliseconds = nextUpdate(database, value);
    const wait = { sleepsUntil, waitsFor, updatedMilliseconds };
    transaction.check(task).set<TaskRecord>(key, { ...value, ...wait });
  }

  return {
    async beginningOf({ run }: Claim): Promise<RunBeginning> {
      return JSON.parse(await readText(database, run.beginning));
    },

    /**
     * Takes a run whose time has come, or whose process has died.
     *
     * @param measure reads the size of a run whose process has died
     */
    async take(
      wake: Wake,
      measure: () => Promise<RunSize>,
    ): Promise<ClaimAttempt> {
      const { taskId } = wake;
      const [task, entry, held] = await database.getMany<
        [TaskRecord, RunRecord, TaskLease]
      >([taskKey(taskId), taskRunKey(taskId), taskLeaseKey(taskId)]);
      const because = await reasonToLeave(wake, task, entry, held);
      if (because !== "watched") leases.forget(taskId);
      if (because) return { because };
      const run = entry.value!;
      // If the call that began the work was answered with 503, no one has the
      // ID of the work. The call is repeated, so the work would be done twice.
      if (isUntouched(task.value!) && await database.isGivenUp(task)) {
        await database.commit((transaction) => {
          transaction.delete(
            task.key,
            entry.key,
            held.key,
            wake.key,
            tasksOfKey(task.value!.list, taskId),
            ...textKeysOf(run.beginning),
          );
        });
        return { because: "ended" };
      }
      const { isParked, deaths } = run;
      const size = isParked ? run : await measure();
      const { kept, characters } = size;
      const record: RunRecord = {
        ...run,
        isParked: false,
        kept,
        characters,
        deaths: isParked ? deaths : kept === run.kept ? deaths + 1 : 1,
      };
      const now = database.now();
      const renewal = renewalAt(now);
      const { dueSeconds } = renewal;
      const { address, expiresAt } = record;
      const version = await database.commit((transaction) => {
        transaction.check(entry, held).set(entry.key, record).delete(wake.key);
        setLease(transaction, taskId, now);
        setWake(transaction, { address, taskId, dueSeconds, expiresAt });
        setWait(transaction, task);
      });
      return version === undefined
        ? { because: "lost" }
        : { claim: claimOf(taskId, record, version, renewal) };
    },

    /** True if this process still has its claim. */
    async isHeld({ term }: Claim): Promise<boolean> {
      const { versionstamp } = await database.get(term.key);
      return versionstamp === term.versionstamp;
    },

    /** Renews the lease of a run. Returns false if the claim is lost. */
    async renew(claim: Claim): Promise<boolean> {
      const { taskId, term, run: { address }, expiresAt } = claim;
      const now = database.now();
      const renewal = renewalAt(now);
      const { dueSeconds } = renewal;
      const isRenewed = await database.commit((transaction) => {
        transaction.check(term).delete(wakeOf(claim));
        setLease(transaction, taskId, now);
        setWake(transaction, { address, taskId, dueSeconds, expiresAt });
      });
      if (isRenewed) Object.assign(claim, renewal);
      return isRenewed !== undefined;
    },

    /**
     * Parks a run: releases the claim, and sets the time at which a process
     * resumes it.
     *
     * @param dueSeconds undefined if the run only waits for answers
     * @param questions the keys of the open questions that the run waits for
     * @param more see {@linkcode RunRecord} and {@linkcode TaskRecord};
     * `deaths`: set for a run that is postponed as soon as it was taken;
     * `waits`: the keys of the open waits that the run waits for
     * @returns `answered` if an answer has come, so that the run is not parked;
     * `lost` if the claim is lost
     */
    async park(
      claim: Claim,
      dueSeconds: number | undefined,
      questions: readonly string[] = [],
      { missingSince, pausedSince, waitsFor = "", deaths = 0, waits = [] }:
        & Partial<Pick<RunRecord, "missingSince" | "pausedSince" | "deaths">>
        & Pick<TaskRecord, "waitsFor">
        & { waits?: readonly Deno.KvKey[] } = {},
    ): Promise<"parked" | "answered" | "lost"> {
      const { taskId, term, run, expiresAt } = claim;
      for (;;) {
        const [task, held, head] = await database.getMany<
          [TaskRecord, RunRecord, Expiring]
        >([taskKey(taskId), taskRunKey(taskId), waitsOfKey(listOfWaits(run))]);
        if (held.versionstamp !== term.versionstamp || !task.value) {
          return "lost";
        }
        const open = task.value.questions;
        // The waits are read after the head of their list. Every later answer
        // changes the head, so that the commit below fails.
        const waiting = await database.getMany<WaitRecord[]>(waits);
        if (
          questions.some((key) => !Object.hasOwn(open, key)) ||
          waiting.some(({ value }) => value?.state !== "open")
        ) return "answered";
        const isParked = await database.commit((transaction) => {
          transaction.check(task, term, head)
            .set<RunRecord>(term.key, {
              ...run,
              isParked: true,
              characters: claim.characters,
              deaths,
              missingSince,
              pausedSince,
            })
            .delete(taskLeaseKey(taskId), wakeOf(claim));
          if (dueSeconds !== undefined) {
            const { address } = run;
            setWake(transaction, { address, taskId, dueSeconds, expiresAt });
          }
          setWait(transaction, task, {
            sleepsUntil: dueSeconds && Math.ceil(dueSeconds),
            waitsFor: shortMessage(waitsFor),
          });
        });
        if (isParked) return "parked";
      }
    },
  };
}
