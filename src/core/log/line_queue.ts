/**
 * Lines that wait to be written. A reader may stall, a disk may be full, a pipe
 * may be closed: then lines wait, up to a bound beyond which they are dropped
 * and counted. Code that logs never waits.
 *
 * @module
 */
import { within } from "../clock.ts";
import { outsideTrace } from "../telemetry/current.ts";

/** Writes bytes, maybe not all. Resolves to the number that were written. */
export type WriteBytes = (bytes: Uint8Array) => Promise<number>;

/** The time to wait for more lines, because each write costs a system call. */
const WAIT_MILLISECONDS = 50;
/** The number of characters at which waiting lines are written at once. */
const FULL_CHARACTERS = 64 * 1024;
/**
 * The maximum number of characters that wait; as many may be in a running
 * write.
 */
const MAX_CHARACTERS = 1024 * 1024;
/** The bound for routine lines, lower to leave room for warnings and errors. */
const MAX_ROUTINE_CHARACTERS = MAX_CHARACTERS * 3 / 4;
/** The time after which a failed write is tried again. */
const PAUSE_MILLISECONDS = 1000;
/** The maximum time that `flush` waits. */
const MAX_FLUSH_MILLISECONDS = 500;

/** A queue in front of one file or pipe. */
export class LineQueue {
  #waiting = "";
  #isUrgent = false;
  #dropped = 0;
  /** The bytes of a write that are not written yet. */
  #rest: Uint8Array = new Uint8Array();
  #failedMilliseconds = 0;
  #timer?: ReturnType<typeof setTimeout>;
  #writing?: Promise<void>;

  /** @param droppedLine makes the line that tells how many lines are missing */
  constructor(
    private readonly write: WriteBytes,
    private readonly droppedLine: (count: number) => string,
  ) {}

  /**
   * Adds a line, or several, without the last line end.
   *
   * @param isUrgent true to write them at once, with all lines that wait before
   * them
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

  /** True if the last write failed. */
  get #hasFailed(): boolean {
    return !this.#writing && this.#rest.length > 0;
  }

  /**
   * Plans the next write: at once or soon; after a failure, with the first line
   * that is added once the pause is over.
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
