/**
 * A queue of log lines. If the reader stalls, the disk is full or the pipe is
 * closed, lines wait. Beyond a limit they are dropped and counted. Code that
 * logs never waits.
 *
 * @module
 */
import { within } from "../clock.ts";
import { outsideTrace } from "../telemetry/current.ts";

/**
 * Writes some or all of the bytes. Resolves to the number that were written.
 */
export type WriteBytes = (bytes: Uint8Array) => Promise<number>;

/** The time to wait for more lines, because each write costs a system call. */
const WAIT_MILLISECONDS = 50;
/** A write starts at once if this many characters wait. */
const FULL_CHARACTERS = 64 * 1024;
/**
 * The maximum number of waiting characters. A write in progress may hold as
 * many again.
 */
const MAX_CHARACTERS = 1024 * 1024;
/** The limit for routine lines, lower to leave room for warnings and errors. */
const MAX_ROUTINE_CHARACTERS = MAX_CHARACTERS * 3 / 4;
/** The pause after a failed write. */
const PAUSE_MILLISECONDS = 1000;
const MAX_FLUSH_MILLISECONDS = 500;

/** A queue for one file or pipe. */
export class LineQueue {
  #waiting = "";
  #isUrgent = false;
  #dropped = 0;
  /** The part of an incomplete write that is still to be written. */
  #rest: Uint8Array = new Uint8Array();
  #failedMilliseconds = 0;
  #timer?: ReturnType<typeof setTimeout>;
  #writing?: Promise<void>;

  /**
   * @param droppedLine makes the line that reports how many lines were dropped
   */
  constructor(
    private readonly write: WriteBytes,
    private readonly droppedLine: (count: number) => string,
  ) {}

  /**
   * Adds one or more lines, without the last line end.
   *
   * @param isUrgent true to write at once
   */
  push(lines: string, isUrgent = false): void {
    const most = isUrgent ? MAX_CHARACTERS : MAX_ROUTINE_CHARACTERS;
    if (this.#waiting.length + lines.length >= most) {
      this.#dropped++;
      return;
    }
    this.#waiting += `${lines}\n`;
    this.#isUrgent ||= isUrgent;
    this.#plan();
  }

  /** Resolves when everything is written, or after half a second. */
  async flush(): Promise<void> {
    await within(MAX_FLUSH_MILLISECONDS, this.#writeAll());
  }

  get #isEmpty(): boolean {
    return this.#waiting === "" && this.#dropped === 0 &&
      this.#rest.length === 0;
  }

  get #hasFailed(): boolean {
    return !this.#writing && this.#rest.length > 0;
  }

  /**
   * Schedules the next write, at once or soon. After a failure, the first line
   * that is added after the pause starts it.
   */
  #plan(): void {
    if (this.#writing || this.#isEmpty) return;
    if (this.#hasFailed) {
      // No timer: it would keep a process alive for a closed pipe.
      const passed = performance.now() - this.#failedMilliseconds;
      if (passed >= PAUSE_MILLISECONDS) this.#begin();
    } else if (this.#isUrgent || this.#waiting.length >= FULL_CHARACTERS) {
      this.#begin();
    } else {this.#timer ??= outsideTrace(() =>
        setTimeout(() => this.#begin(), WAIT_MILLISECONDS)
      );}
  }

  #begin(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#writing ??= this.#writeChunk().then(() => {
      this.#writing = undefined;
      if (!this.#hasFailed) this.#plan();
    });
  }

  async #writeAll(): Promise<void> {
    await this.#writing;
    while (!this.#isEmpty) {
      await this.#begin();
      if (this.#hasFailed) return;
    }
  }

  async #writeChunk(): Promise<void> {
    try {
      await this.#writeRest();
      this.#rest = new TextEncoder().encode(this.#takeText());
      await this.#writeRest();
    } catch {
      this.#failedMilliseconds = performance.now();
    }
  }

  async #writeRest(): Promise<void> {
    while (this.#rest.length > 0) {
      this.#rest = this.#rest.subarray(await this.write(this.#rest));
    }
  }

  #takeText(): string {
    let text = this.#waiting;
    if (this.#dropped > 0) text += `${this.droppedLine(this.#dropped)}\n`;
    this.#waiting = "";
    this.#isUrgent = false;
    this.#dropped = 0;
    return text;
  }
}
