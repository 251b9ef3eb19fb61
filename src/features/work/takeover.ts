/**
 * The takeover of durable work that this process has claimed: with its tool and
 * its caller as they are today.
 *
 * @module
 */
import { RpcCode } from "../../core/errors.ts";
import { persist } from "../../core/kv/persist.ts";
import type { Claim } from "./run_record.ts";
import type { Poller } from "./run_poller.ts";
import { TaskExecution } from "./task_execution.ts";
import { EXPELLED } from "./task_state.ts";
import type { DurableWork, Resume, TaskParts } from "./task_work.ts";

/**
 * The time after which a run is tried again if this process does not know its
 * tool, its steps, the provider of its caller, or the keys of its accounts.
 */
const MISSING_SECONDS = 30;
/** The time for which such work is left to processes of other releases. */
const MISSED_SECONDS = 60 * 60;
/**
 * The time for which a claim waits for the database. Shorter than the lease,
 * because a claim that begins no work counts as the death of a process.
 */
const CLAIM_MILLISECONDS = 20_000;

/** The process that takes work over. */
interface Successor {
  parts: TaskParts;
  resume: Resume;
  /** True once the process takes no more work. */
  isClosed(): boolean;
  /** Does the work until it ends or is parked. */
  execute(execution: TaskExecution, work: DurableWork): Promise<void>;
}

/** Goes on with a claimed run, gives its claim up, or ends its task. */
export async function takeOver(
  claim: Claim,
  { parts, resume, isClosed, execute }: Successor,
): ReturnType<Poller["takeOver"]> {
  const { runs, database, stopping: signal } = parts;
  const { taskId, run: { deaths, version: firstVersion = 1 } } = claim;
  const resumed = await persist(async () => {
    // Read after the claim: until then the process before could store steps.
    const steps = await parts.steps.list(taskId);
    // Whoever took the work meanwhile may have ended it, and results go then.
    if (!await runs.isHeld(claim)) return undefined;
    const beginning = await runs.beginningOf(claim);
    return { steps, ...await resume(claim, beginning) };
  }, { signal, forMilliseconds: CLAIM_MILLISECONDS });
  if (!resumed) return undefined;
  const { steps, work, lacks, origin, isAllowed, isConfigured } = resumed;
  const { version } = work ?? { version: 1 };
  const durable = { claim, steps, version };
  const execution = new TaskExecution(parts, { taskId, origin, durable });
  // Steps of a newer release differ from those of this one, even where their
  // IDs are the same.
  const newest = Math.max(firstVersion, ...steps.map(({ version }) => version));
  if (!work || version < newest) {
    const missing = lacks !== undefined
      ? `The setting ${lacks} for`
      : work
      ? `Version ${newest} of the steps of`
      : "The tool";
    return await leaveOrFail(parts, claim, execution, missing);
  }
  if (isClosed()) {
    return void await runs.park(claim, database.now(), [], { deaths });
  }
  if (!isAllowed) {
    if (!isConfigured && await leave(parts, claim)) return "left";
    return void await execution.end(EXPELLED);
  }
  const free = work.enter ? work.enter(origin.limitKey) : () => {};
  if (!free) return "no room";
  return { done: execute(execution, work).finally(free) };
}

/** Leaves a run to processes that may know more; false after an hour. */
async function leave(
  { runs, database }: TaskParts,
  claim: Claim,
): Promise<boolean> {
  const now = database.now();
  const { run: { deaths, missingSince = now } } = claim;
  if (now - missingSince >= MISSED_SECONDS) return false;
  const more = { deaths, missingSince };
  await runs.park(claim, now + MISSING_SECONDS, [], more);
  return true;
}

/** Leaves a run without its tool, steps or settings, and at last ends it. */
async function leaveOrFail(
  parts: TaskParts,
  claim: Claim,
  execution: TaskExecution,
  missing: string,
): Promise<"left" | undefined> {
  if (await leave(parts, claim)) return "left";
  const message = `${missing} ${claim.run.tool} is not there any more`;
  const error = { code: RpcCode.internalError, message };
  await execution.end({ outcome: "refused", error });
  return undefined;
}
