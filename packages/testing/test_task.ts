/**
 * A task that a test has started.
 *
 * @module
 */
import { checkOptions } from "../../src/authoring/options.ts";
import type { Conversation } from "./conversation.ts";
import { CRASH_POINT, type CrashPoint } from "./test_cluster.ts";
import { TestResult } from "./test_result.ts";

const PATIENCE_MILLISECONDS = 5000;

const TOO_LATE =
  "Call crash() before the step: right after startTask() or another crash(). Where a sleep comes before it, call server.advance() while crash() waits";

/** The status of a task. */
export interface TestTaskStatus {
  /** The status of the task; the last three are final. */
  status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  /**
   * The tool's last progress, the reason why it waits, or the end of its sleep.
   */
  statusMessage?: string;
}

/** A task that a test has started; `O` is the output of its tool. */
export class TestTask<O = unknown> {
  /** Made by a test client's `startTask`. */
  constructor(
    /** The ID of the task. */
    readonly taskId: string,
    private readonly request: Conversation,
  ) {}

  /** Reads the status of the task. */
  async status(): Promise<TestTaskStatus> {
    const { taskId } = this;
    const { status, statusMessage } = await this.request.run(
      "tasks/get",
      { taskId },
      {},
    ) as unknown as TestTaskStatus;
    return statusMessage === undefined ? { status } : { status, statusMessage };
  }

  /** Cancels the task, as its client does. */
  async cancel(): Promise<void> {
    await this.request.run("tasks/cancel", { taskId: this.taskId }, {});
  }

  /**
   * Makes the process of the test's server die during its work, at once or at a
   * step, and answers the task's questions until then. Half a minute later by
   * the server's clock, another process on the same database takes over the
   * work. Requests that the work has already sent elsewhere continue.
   *
   * @throws {Error} if the work does not reach that step
   */
  async crash(point: CrashPoint = {}): Promise<void> {
    checkOptions("crash", CRASH_POINT, point);
    const { request, taskId } = this;
    const over = new AbortController();
    const crashed = request.target.crash(
      taskId,
      point,
      () => request.hold(),
      over.signal,
    );
    const name = point.in ?? point.after;
    await (name === undefined ? crashed : this.#until(crashed, name, over));
    request.beginSoon();
  }

  /** Answers the task's questions until its process has died at a step. */
  async #until(
    crashed: Promise<void>,
    name: string,
    over: AbortController,
  ): Promise<void> {
    const { request, taskId } = this;
    const timer = setTimeout(() => over.abort(), PATIENCE_MILLISECONDS);
    const followed = request.follow(taskId, over).then(() => {
      throw new Error("it has ended");
    });
    const words = `${request.what} did not get to its step "${name}"`;
    try {
      await Promise.race([crashed, followed]);
    } catch (cause) {
      if (!over.signal.aborted) {
        throw new Error(`${words}: ${(cause as Error).message}`, { cause });
      }
      const { status } = await this.status();
      throw new Error(`${words} within 5 s, and is ${status}. ${TOO_LATE}`);
    } finally {
      clearTimeout(timer);
      over.abort();
      await Promise.allSettled([crashed, followed]);
    }
  }

  /**
   * Waits for the end of the task, and answers its questions until then.
   *
   * @throws {Error} if the task failed or was cancelled
   */
  async result(): Promise<TestResult<O>> {
    const { request, taskId } = this;
    const { options: { signal } } = request;
    try {
      const result = await request.follow(taskId, { signal });
      return new TestResult(result, request);
    } catch (error) {
      // The task may wait for a question that no one will answer.
      await this.cancel().catch(() => {});
      if (signal?.aborted) throw signal.reason;
      const isCancelled = error instanceof DOMException;
      throw isCancelled
        ? new Error(`The task of ${request.what} was cancelled`)
        : error;
    }
  }
}
