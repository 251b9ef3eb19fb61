/**
 * A task that a test has started.
 *
 * @module
 */
import type { CallToolResult } from "../authoring/tool.ts";
import type { JsonObject } from "../json.ts";
import { readMessages, type RpcErrorObject } from "./client_messages.ts";
import type { TestRequest } from "./test_request.ts";
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
    private readonly request: TestRequest,
  ) {}

  /** Asks for its status. */
  async status(): Promise<TestTaskStatus> {
    const { taskId } = this;
    const { status, statusMessage } = await this.request.ask(
      "tasks/get",
      { taskId },
    ) as unknown as TestTaskStatus;
    return statusMessage === undefined ? { status } : { status, statusMessage };
  }

  /** Cancels it, as its client does. */
  async cancel(): Promise<void> {
    await this.request.ask("tasks/cancel", { taskId: this.taskId });
  }

  /**
   * Waits for its end and answers what it asks until then.
   *
   * @throws {Error} when it failed or was cancelled
   */
  async result(): Promise<TestResult<O>> {
    const { request } = this;
    const { signal } = request.options;
    try {
      return await this.#follow();
    } catch (error) {
      // No one will answer a question that the task may still wait for.
      await this.cancel();
      throw signal?.aborted ? signal.reason : error;
    } finally {
      request.checkRoutes();
    }
  }

  async #follow(): Promise<TestResult<O>> {
    const { request, taskId } = this;
    const isAnswered = new Set<string>();
    const notifications = { taskIds: [taskId] };
    const response = await request.post(
      "subscriptions/listen",
      { notifications },
      request.options.signal,
    );
    for await (const { method, params = {} } of readMessages(response)) {
      if (method !== "notifications/tasks") continue;
      switch (params.status) {
        case "input_required": {
          const open = Object.entries(params.inputRequests as JsonObject)
            .filter(([key]) => !isAnswered.has(key));
          for (const [key] of open) isAnswered.add(key);
          const inputResponses = request.answerAll(Object.fromEntries(open));
          await request.ask("tasks/update", { taskId, inputResponses });
          break;
        }
        case "completed":
          return new TestResult(
            params.result as unknown as CallToolResult,
            request,
          );
        case "failed":
          throw request.refused(
            params.error as RpcErrorObject,
            response,
          );
        case "cancelled":
          throw new Error(`The task of ${request.what} was cancelled`);
      }
    }
    throw new Error(`The task of ${request.what} ended without a result`);
  }
}
