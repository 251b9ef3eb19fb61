/**
 * The message in a task's status: the progress of its tool in words, or in
 * numbers where there are none.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { Clock } from "../../clock.ts";
import type { JsonObject } from "../../json.ts";

/** The least time between two messages that are written. */
const MESSAGE_MILLISECONDS = 1000;

/** The latest message of one task: the first is written at once, the last never lost. */
export class StatusMessage {
  #waiting?: string;
  #writtenMilliseconds = -Infinity;
  #timer?: ReturnType<typeof setTimeout>;
  #writing: Promise<void> = Promise.resolve();
  #hasEnded = false;

  constructor(
    private readonly store: (message: string) => Promise<void>,
    private readonly clock: Clock,
  ) {}

  /** Tells a new message; resolves once it is written, or waits for its turn. */
  async tell(message: string): Promise<void> {
    if (this.#hasEnded) return;
    this.#waiting = message;
    const passed = this.clock() - this.#writtenMilliseconds;
    if (passed >= MESSAGE_MILLISECONDS) return await this.#flush();
    this.#timer ??= setTimeout(
      () => this.#flush().catch(() => {}),
      MESSAGE_MILLISECONDS - passed,
    );
  }

  /** Writes what waits for its turn. */
  async write(): Promise<void> {
    if (this.#waiting !== undefined) await this.#flush();
  }

  /** Ends it; gives the message that has not been written yet. */
  async end(): Promise<string | undefined> {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    await this.#writing.catch(() => {});
    return this.#waiting;
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const message = this.#waiting!;
    this.#waiting = undefined;
    this.#writtenMilliseconds = this.clock();
    return this.#writing = this.#writing.catch(() => {})
      .then(() => this.store(message));
  }
}

/** Prints progress as `3 of 9: indexing`, or as much of it as there is. */
export function messageOf(
  { message, progress, total }: JsonObject,
): string | undefined {
  const words = typeof message === "string" ? message : undefined;
  if (total === undefined) return words;
  return [`${progress} of ${total}`, words].filter(Boolean).join(": ");
}
