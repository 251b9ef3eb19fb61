/**
 * Listens to notifications of changes, on a connection of its own that is
 * opened again whenever it is lost.
 *
 * @module
 */
import timers from "node:timers";
import type { NotificationConnection } from "./driver.ts";

/** The time limit of a test notification behind a pooler. */
const ECHO_MILLISECONDS = 1000;
/**
 * The time limit of a test notification without a pooler, for a slow server.
 */
const MAX_ECHO_MILLISECONDS = 5000;
/** The pause between two checks of the connection. */
const CHECK_MILLISECONDS = 10_000;
const FIRST_PAUSE_MILLISECONDS = 100;
const MAX_PAUSE_MILLISECONDS = 5000;

/** The prefix of a test notification; no hash of a key begins so. */
const ECHO = "echo ";

/** Receives the hashes of keys that have changed. */
export class Listener {
  /**
   * True if notifications arrive. A pooler may accept `listen` and pass nothing
   * on.
   */
  hears = false;
  onChange: (hash: string) => void = () => {};
  /** Called after changes may have been missed. */
  onBack: () => void = () => {};
  #echo?: { payload: string; heard: PromiseWithResolvers<boolean> };
  #announce: (payload: string) => Promise<unknown> = () => Promise.resolve();
  #timer?: ReturnType<typeof timers.setTimeout>;
  /** The number of the planned action; earlier plans are dropped. */
  #turn = 0;
  #pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;
  #isOver = false;

  constructor(
    private readonly connection: NotificationConnection,
    private readonly presence: string,
    private readonly checkMilliseconds: number = CHECK_MILLISECONDS,
  ) {
    connection.onHeard = (payload) => this.#hear(payload);
    connection.onEnd = () => this.#again();
  }

  /**
   * Connects, and finds out if notifications arrive. If they do, no pooler
   * shares the connection, so the connection can show that this process uses
   * the database.
   *
   * @param announce sends a notification on another connection
   */
  async start(announce: (payload: string) => Promise<unknown>): Promise<void> {
    this.#announce = announce;
    await this.connection.listen();
    const isDirect = await this.connection.isDirect();
    this.hears = await this.#hearsItself(
      isDirect ? MAX_ECHO_MILLISECONDS : ECHO_MILLISECONDS,
    );
    if (!this.hears) return await this.close();
    await this.connection.settle(this.presence);
    this.#checkLater();
  }

  /** Closes the connection for good. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#echo?.heard.resolve(false);
    timers.clearTimeout(this.#timer);
    await this.connection.close();
  }

  #hear(payload: string): void {
    if (!payload.startsWith(ECHO)) this.onChange(payload);
    else if (payload === this.#echo?.payload) this.#echo.heard.resolve(true);
  }

  /** True if this listener receives its own notification. */
  async #hearsItself(milliseconds: number): Promise<boolean> {
    const payload = `${ECHO}${crypto.randomUUID()}`;
    const heard = Promise.withResolvers<boolean>();
    // Gives up an earlier test notification, whose connection was cut.
    this.#echo?.heard.resolve(false);
    this.#echo = { payload, heard };
    await this.#announce(payload);
    const timer = timers.setTimeout(() => heard.resolve(false), milliseconds);
    timer.unref();
    const hears = await heard.promise;
    timers.clearTimeout(timer);
    return hears;
  }

  /**
   * Checks from time to time that this connection leads to the same server as
   * the others. If its server hangs, or is no longer the primary, the
   * connection stays open but receives nothing.
   */
  #checkLater(): void {
    this.#after(this.checkMilliseconds, async (isLast) => {
      const hears = await this.#hearsItself(MAX_ECHO_MILLISECONDS)
        // While the database is away, this check says nothing about the
        // connection.
        .catch(() => true);
      if (!isLast()) return;
      if (hears) this.#checkLater();
      else this.#again();
    });
  }

  #again(): void {
    this.#after(this.#pauseMilliseconds, async () => {
      try {
        await this.connection.listen(this.presence);
      } catch {
        this.#pauseMilliseconds = Math.min(
          MAX_PAUSE_MILLISECONDS,
          this.#pauseMilliseconds * 2,
        );
        return this.#again();
      }
      this.#pauseMilliseconds = FIRST_PAUSE_MILLISECONDS;
      this.#checkLater();
      this.onBack();
    });
  }

  /** Plans the next action, in place of the one that was planned. */
  #after(
    milliseconds: number,
    run: (isLast: () => boolean) => Promise<void>,
  ): void {
    timers.clearTimeout(this.#timer);
    if (this.#isOver) return;
    const turn = ++this.#turn;
    const isLast = () => turn === this.#turn;
    this.#timer = timers.setTimeout(() => run(isLast), milliseconds);
    this.#timer.unref();
  }
}
