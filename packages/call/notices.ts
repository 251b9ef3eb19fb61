/**
 * The messages that a server sends before its result, at the terminal.
 *
 * @module
 */
import type { Json, TaskState } from "../client/mod.ts";
import type { Terminal } from "./terminal.ts";

/** The notices of one command. */
export class Notices {
  /** @param isTold true if the person knows the ID of the task */
  constructor(
    private readonly terminal: Terminal,
    private isTold: boolean,
  ) {}

  /** Shows progress, and a message of the log. */
  show(method: string, params: Json): void {
    if (method === "notifications/progress") {
      const { progress, total, message } = params;
      const count = total === undefined ? progress : `${progress}/${total}`;
      this.terminal.progress(`[${count}] ${message ?? ""}`.trim());
    } else if (method === "notifications/message") {
      const { level, data } = params;
      const text = typeof data === "string" ? data : JSON.stringify(data);
      this.terminal.tell(`${level}: ${text}`);
    }
  }

  /** Shows the state of a task, and at first its ID. */
  showTask({ taskId, status, statusMessage }: TaskState): void {
    if (!this.isTold) {
      this.isTold = true;
      this.terminal.tell(`A task; call --task ${taskId} has its result too`);
    }
    if (status !== "working") return;
    this.terminal.progress(`[${status}] ${statusMessage ?? ""}`.trim());
  }
}
