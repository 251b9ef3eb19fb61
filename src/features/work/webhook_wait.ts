/**
 * `context.wait`: durable work waits for a webhook while no process runs it.
 * Only the first answer is used.
 *
 * @module
 */
import type { WaitOptions } from "../../authoring/durable.ts";
import type { Caller } from "../../core/caller.ts";
import { canonicalJson } from "../../core/json.ts";
import {
  MAX_WAITS_PER_PERSON,
  type Waiting,
  type WaitStore,
} from "../questions/waits.ts";
import { askInTurn } from "../../core/mcp/exchange/in_turn.ts";
import { bestEffort, untilReachable } from "../../core/kv/operations.ts";
import { listOfWaits } from "./run_record.ts";
import { type LimitKey, MANY_FACTOR } from "../../core/mcp/exchange/limits.ts";
import type { DurableSteps } from "./durable_steps.ts";
import type { WorkParking } from "../../core/mcp/exchange/work.ts";

interface WaitingWork {
  waits: WaitStore;
  taskId: string;
  address: string;
  tool: string;
  caller: Caller;
  /** The identity by which limits count the caller. */
  limitKey?: LimitKey;
  signal: AbortSignal;
  parking: WorkParking;
}

type WaitingSteps = Pick<DurableSteps, "repeatableStep" | "sleep" | "hasKept">;

/**
 * Waits for a webhook in durable work, and returns its data. Undefined if none
 * came in time. The wait has the same step names in every run, and the answer
 * is stored as one of the steps.
 */
export async function waitForWebhook(
  run: WaitingSteps,
  work: WaitingWork,
  id: string,
  { message, open, seconds }: WaitOptions,
): Promise<unknown> {
  const { waits, taskId, address, tool, caller, limitKey, signal, parking } =
    work;
  const { subject, grantId } = caller;
  const waiting: Waiting = {
    subject,
    list: listOfWaits({ caller, limitKey }),
    kind: "webhook",
    asker: canonicalJson(["task", taskId, id]),
    question: id,
    tool,
    grantId,
    taskId,
    taskAddress: address,
  };
  const most = MAX_WAITS_PER_PERSON * (limitKey?.isMany ? MANY_FACTOR : 1);
  const opening = `wait ${id}: open`;
  // The wait is opened before the step, because no run is parked during a step.
  // A later run finds the same wait, with the same token.
  const opened = run.hasKept(opening) ? undefined : await askInTurn(
    parking,
    () =>
      untilReachable(
        () => waits.open(waiting, { message }, { seconds, most }),
        { signal },
      ),
  );
  const until = await run.repeatableStep(opening, async () => {
    const { id, state, createdAt, expiresAt } = opened!;
    // If the answer came before this step was stored, the sleep ends at once.
    // `expiresAt` would be too late, because the answer is kept for longer than
    // the task may sleep.
    if (state !== "open") return createdAt;
    await open(id!);
    return expiresAt;
  });
  const end = `wait ${id}: end`;
  const wait = await parking.activity(() =>
    untilReachable(() => waits.findByAsker(waiting), { signal })
  );
  const over = new AbortController();
  const slept = run.sleep(
    `wait ${id}: time`,
    new Date(until * 1000),
    { enough: over.signal, wait: wait?.key, waitsFor: message },
  );
  // If an earlier run got the answer, the sleep ends at once.
  if (run.hasKept(end)) over.abort();
  // The run may be parked meanwhile. Then the end of the sleep, or the answer,
  // resumes it elsewhere.
  else if (wait) {
    const ending = AbortSignal.any([signal, over.signal]);
    // If a wait is gone before its time, its work or its person is gone too.
    // This run is about to be told so, and must not take the missing record for
    // the end of the time.
    const answered = waits.settled(wait, ending)
      .then(() => untilReachable(() => waits.read(wait), { signal }))
      .then((left) => left ? undefined : slept);
    await Promise.race([answered, slept]).finally(() => over.abort());
  }
  await slept;
  const { answer } = await run.repeatableStep(end, async () => {
    const answer = wait &&
      await untilReachable(() => waits.close(wait), { signal });
    return answer ? { answer: answer.data } : {};
  });
  if (wait) {
    await parking.activity(() => bestEffort(() => waits.withdraw(wait)));
  }
  return answer;
}
