/**
 * Lets a call wait until its task ends or needs a person, but no longer than
 * clients wait for a response. Meanwhile it asks the client the task's
 * questions.
 *
 * @module
 */
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { randomId } from "../../core/crypto/crypto.ts";
import { untilReachable } from "../../core/kv/operations.ts";
import { isTerminal } from "./task_record.ts";
import type { Task } from "./tasks.ts";
import type { LastingCall } from "./task_engine.ts";
import { sendsToPage } from "../questions/page_questions.ts";
import { lackedFor } from "../../core/protocol/elicitation.ts";
import {
  AskedQuestion,
  type InputRequest,
} from "../../core/protocol/question.ts";

/**
 * Asks the client of a waiting call the questions of a task, and stores the
 * answers for the task.
 */
export class TaskRelay {
  /**
   * The time to which an answer has prolonged the wait, by `performance.now()`.
   */
  untilMilliseconds = -Infinity;
  /**
   * The questions that the client was asked, by key. Each controller withdraws
   * its question when the answer is no longer needed.
   */
  #asked = new Map<string, AbortController>();
  /** Questions that the client did not answer. */
  #unanswered = new Set<string>();

  /**
   * @param patienceMilliseconds the time by which an answer prolongs the wait
   */
  constructor(
    private readonly call: LastingCall,
    private readonly patienceMilliseconds: number,
  ) {}

  /**
   * Asks the client a task's open questions. Returns true if the client has
   * any.
   */
  ask({ taskId, inputRequests = {} }: Task): boolean {
    for (const [key, asked] of this.#asked) {
      if (Object.hasOwn(inputRequests, key)) continue;
      asked.abort(new Error("Someone else has answered"));
      this.#asked.delete(key);
    }
    let isAsked = false;
    const { client } = this.call;
    for (const [key, question] of Object.entries(inputRequests)) {
      if (this.#unanswered.has(key) || lackedFor(question, client)) continue;
      isAsked = true;
      if (!this.#asked.has(key)) this.#put(taskId, key, question);
    }
    return isAsked;
  }

  /** Withdraws the open questions. */
  end(): void {
    for (const asked of this.#asked.values()) {
      asked.abort(new Error("The call has ended"));
    }
  }

  #put(taskId: string, key: string, question: InputRequest): void {
    const { call } = this;
    const { engine: { tasks, log } } = call;
    const asked = new AbortController();
    this.#asked.set(key, asked);
    const { method, params } = forGeneration(question, call);
    call.request(new AskedQuestion(method, params, key), asked.signal)
      .then((answer) =>
        untilReachable(() => tasks.answer(taskId, { [key]: answer }), asked)
      )
      .then(
        () => {
          this.untilMilliseconds = performance.now() +
            this.patienceMilliseconds;
        },
        (error) => {
          this.#unanswered.add(key);
          if (asked.signal.aborted || call.signal.aborted) return;
          log.info("A client did not answer the question of a task", {
            reference: taskId,
            error,
          });
        },
      );
  }
}

/** Adds the `elicitationId` that MCP 2025-11-25 needs to open a page. */
function forGeneration(
  { method, params }: InputRequest,
  { stateless }: LastingCall,
): InputRequest {
  return stateless || params.mode !== "url"
    ? { method, params }
    : { method, params: { elicitationId: randomId(16), ...params } };
}

/**
 * Waits for a task like {@linkcode waitForTask}, as long as a call of its tool
 * may take. Ends the task if the client cancels the call.
 */
export async function waitAsCall(
  call: LastingCall,
  { handOverMilliseconds }: CompiledTool,
  task: Task,
  relay?: TaskRelay,
): Promise<Task | undefined> {
  const untilMilliseconds = call.startedMilliseconds + handOverMilliseconds;
  try {
    return await waitForTask(call, task, { untilMilliseconds, relay });
  } catch (error) {
    if (!call.signal.aborted) throw error;
    // The server stops: the task may continue elsewhere.
    if (call.execution.hasEnded) {
      await call.engine.tasks.end(task.taskId, { status: "cancelled" });
    }
    return task;
  }
}

/**
 * Waits until a task ends, changes its status, or sends its person to a page,
 * or until the time is over. Open questions and each answer prolong the wait.
 * Undefined if the task is gone.
 *
 * @param relay asks the client; if absent, a question ends the wait
 * @throws the reason for which the call was stopped
 */
export async function waitForTask(
  call: LastingCall,
  task: Task,
  { untilMilliseconds, relay }: {
    untilMilliseconds: number;
    relay?: TaskRelay;
  },
): Promise<Task | undefined> {
  const { engine: { tasks, waitPages }, caller: { binding }, signal } = call;
  const over = new AbortController();
  call.watch.onBeat = (nowMilliseconds) => {
    const until = Math.max(
      untilMilliseconds,
      relay?.untilMilliseconds ?? -Infinity,
    );
    if (nowMilliseconds >= until && !call.isAsking) over.abort();
  };
  const waiting = AbortSignal.any([signal, over.signal]);
  let seen = task;
  try {
    while (!isTerminal(seen.status)) {
      const isAsked = relay?.ask(seen) ?? false;
      const isNews = seen.status !== task.status || relay === undefined;
      if (seen.status === "input_required" && !isAsked && isNews) break;
      const isKnown = seen.waitsFor === task.waitsFor;
      if (!isKnown && sendsToPage(seen.waitsFor, waitPages)) break;
      // While the database does not respond, the task continues, and the call
      // has to return the task's ID.
      const last = seen;
      const next = await untilReachable(
        () => tasks.next(last, binding, waiting),
        { signal: waiting },
      );
      if (next === undefined) return undefined;
      seen = next;
    }
  } catch (error) {
    if (signal.aborted || !over.signal.aborted) throw error;
  } finally {
    call.watch.onBeat = undefined;
    relay?.end();
  }
  return seen;
}
