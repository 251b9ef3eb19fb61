/**
 * A task that a test has started.
 *
 * @module
 */
import type { CallToolResult } from "../../src/authoring/tool.ts";
import type { Conversation } from "./conversation.ts";
import { TestResult } from "./test_result.ts";

/** The status of a task. */
export interface TestTaskStatus {
  /** The last three are final. */
  status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  /** The last progress message that the tool sent. */
  statusMessage?: string;
}

/** A task on its way; `O` is the output of its tool. */
export class TestTask<O = unknown> {
  /** Made by a test client's `startTask`. */
  constructor(
    /** Its name on the wire. */
    readonly taskId: string,
    private readonly request: Conversation,
  ) {}

  /** Asks for its status. */
  async status(): Promise<TestTaskStatus> {
    const { taskId } = this;
    const { status, statusMessage } = await this.request.run(
      "tasks/get",
      { taskId },
      {},
    ) as unknown as TestTaskStatus;
    return statusMessage === undefined ? { status } : { status, statusMessage };
  }

  /** Cancels it, as its client does. */
  async cancel(): Promise<void> {
    await this.request.run("tasks/cancel", { taskId: this.taskId }, {});
  }

  /**
   * Waits for its end and answers its questions until then.
   *
   * @throws {Error} when it failed or was cancelled
   */
  async result(): Promise<TestResult<O>> {
    const { request, taskId } = this;
    const { client, options: { signal } } = request;
    try {
      const result = await request.attempt(() =>
        client.follow({ taskId }, { signal })
      );
      return new TestResult(result as unknown as CallToolResult, request);
    } catch (error) {
      // No one will answer a question that the task may still wait for.
      await this.cancel();
      if (signal?.aborted) throw signal.reason;
      const isCancelled = error instanceof DOMException;
      throw isCancelled
        ? new Error(`The task of ${request.what} was cancelled`)
        : error;
    }
  }
}
