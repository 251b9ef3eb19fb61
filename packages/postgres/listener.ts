/**
 * The announcements of changes, on a connection of their own that is opened
 * again whenever it is lost.
 *
 * @module
 */
import { clearTimeout, setTimeout } from "node:timers";
import type { ConnectionOptions } from "./connection_options.ts";
import { Ear } from "./driver.ts";

/** The time that the test announcement may take. */
const ECHO_MILLISECONDS = 1000;
const FIRST_PAUSE_MILLISECONDS = 100;
const MAX_PAUSE_MILLISECONDS = 5000;

/**
 * The beginning of the payload of a test announcement: no hash of a key begins
 * so.
 */
const ECHO = "echo ";

/** Receives the hashes of keys that have changed. */
export class Listener {
  /**
   * True if announcements arrive. A pooler may accept `listen` and pass nothing
   * on.
   */
  hears = false;
  onChange: (hash: string) => void = () => {};
  /** Called after changes may have been missed. */
  onBack: () => void = () => {};
  readonly #ear: Ear;
  readonly #echo = Promise.withResolvers<boolean>();
  readonly #echoed = `${ECHO}${crypto.randomUUID()}`;
  #timer?: ReturnType<typeof setTimeout>;
  #pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;
  #isOver = false;

  constructor(
    options: ConnectionOptions,
    channel: string,
    private readonly presence: string,
  ) {
    this.#ear = new Ear(
      options,
      channel,
      (payload) => this.#hear(payload),
      () => this.#again(),
    );
  }

  /**
   * Connects, and finds out if announcements arrive. If so, no pooler lends the
   * connection to others, and it shows that this process uses the database.
   *
   * @param announce announces a text, on another connection
   */
  async start(announce: (payload: string) => Promise<unknown>): Promise<void> {
    await this.#ear.listen();
    const timer = setTimeout(
      () => this.#echo.resolve(false),
      ECHO_MILLISECONDS,
    );
    await announce(this.#echoed);
    this.hears = await this.#echo.promise;
    clearTimeout(timer);
    await (this.hears ? this.#ear.settle(this.presence) : this.close());
  }

  /** Closes the connection for good. */
  async close(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#ear.close();
  }

  #hear(payload: string): void {
    if (payload === this.#echoed) this.#echo.resolve(true);
    else if (!payload.startsWith(ECHO)) this.onChange(payload);
  }

  #again(): void {
    if (this.#isOver) return;
    this.#timer = setTimeout(async () => {
      try {
        await this.#ear.listen();
        await this.#ear.settle(this.presence);
        this.#pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;
        if (this.#isOver) await this.#ear.close();
        else this.onBack();
      } catch {
        this.#pauseMilliseconds = Math.min(
          MAX_PAUSE_MILLISECONDS,
          this.#pauseMilliseconds * 2,
        );
        this.#again();
      }
    }, this.#pauseMilliseconds);
    this.#timer.unref();
  }
}
