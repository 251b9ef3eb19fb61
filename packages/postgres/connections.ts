/**
 * The connections of a process that statements take turns on.
 *
 * @module
 */
import { clearInterval, setInterval } from "node:timers";
import { Connection, type Statement } from "./connection.ts";
import type { ConnectionOptions } from "./connection_options.ts";
import type { Row } from "./messages.ts";

/** The clock of a pool. Counted, so that a process that stood still waits on. */
const TICK_MILLISECONDS = 1000;
/** The ticks after which a connection that does not answer is dropped. */
const ANSWER_TICKS = 6;
/** The ticks for which a statement waits for a connection. */
const WAIT_TICKS = 5;
/** The ticks after which a connection that no one uses is closed. */
const IDLE_TICKS = 60;

/** A statement that waits until a connection, or the place for one, is free. */
interface Waiter {
  resolve(connection?: Connection): void;
  reject(error: Error): void;
}

/** The connections of a process. */
export class Connections {
  /** The connection that was used last is at the end. */
  readonly #idle: Connection[] = [];
  readonly #waiters = new Set<Waiter>();
  /** The ticks since a connection got or ended its statement, or a wait began. */
  readonly #ticks = new Map<Connection | Waiter, number>();
  readonly #max: number;
  readonly #ended = Promise.withResolvers<void>();
  /** The number of connections that are open or being opened. */
  #count = 0;
  #clock?: ReturnType<typeof setInterval>;
  /** True if a statement was on its way at the last tick, or came since. */
  #isBusy = false;
  #isOver = false;

  /**
   * @param max the most connections at a time
   * @param isPrepared false if connections forget what they have prepared
   */
  constructor(
    private readonly options: ConnectionOptions,
    { max }: { max: number },
    private readonly isPrepared: () => boolean,
  ) {
    this.#max = max;
  }

  /** Carries out a `select`: one round trip on a connection that is free. */
  query(statement: Statement): Promise<Row[]> {
    const isPrepared = this.isPrepared();
    return this.#use((connection) =>
      connection.query(statement, { isPrepared })
    );
  }

  /** Carries out several statements as one transaction. */
  script(text: string): Promise<void> {
    return this.#use((connection) => connection.script(text));
  }

  /** Ends all connections, each once its statement has been answered. */
  async close(): Promise<void> {
    this.#isOver = true;
    for (const connection of this.#idle.splice(0)) void connection.close();
    while (this.#waiters.size > 0) this.#nextWaiter()?.resolve();
    if (this.#count > 0) await this.#ended.promise;
    clearInterval(this.#clock);
  }

  async #use<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    this.#start();
    const connection = this.#idle.pop() ?? await this.#take();
    this.#ticks.set(connection, 0);
    try {
      const value = await run(connection);
      this.#release(connection);
      return value;
    } catch (error) {
      // It may be dead, or one to a server that only reads.
      connection.destroy(error as Error);
      throw error;
    }
  }

  /** Waits for a connection, or opens one. */
  async #take(): Promise<Connection> {
    while (this.#count >= this.#max && !this.#isOver) {
      const connection = await this.#wait();
      if (connection) return connection;
    }
    if (this.#isOver) throw new Error("The connections are closed");
    this.#count++;
    try {
      const connection = await Connection.open(this.options);
      connection.unref();
      connection.onEnd = () => this.#forget(connection);
      return connection;
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  #wait(): Promise<Connection | undefined> {
    const { promise, ...waiter } = Promise.withResolvers<
      Connection | undefined
    >();
    this.#waiters.add(waiter);
    this.#ticks.set(waiter, 0);
    return promise;
  }

  #release(connection: Connection): void {
    // It may have been lost just after its answer.
    if (!connection.isOpen) return;
    if (this.#isOver) return void connection.close();
    const waiter = this.#nextWaiter();
    if (waiter) return waiter.resolve(connection);
    this.#ticks.set(connection, 0);
    this.#idle.push(connection);
  }

  #nextWaiter(): Waiter | undefined {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      this.#ticks.delete(waiter);
      return waiter;
    }
  }

  #forget(connection: Connection): void {
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#ticks.delete(connection);
    this.#leave();
  }

  /** Gives the place of a connection that has ended to the next one. */
  #leave(): void {
    this.#count--;
    this.#nextWaiter()?.resolve();
    if (this.#isOver && this.#count === 0) this.#ended.resolve();
  }

  /** Starts the clock; while a statement is on its way, the process goes on. */
  #start(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#clock ??= setInterval(() => this.#tick(), TICK_MILLISECONDS);
    this.#clock.ref();
  }

  #tick(): void {
    let isBusy = this.#waiters.size > 0;
    for (const [waiting, ticks] of this.#ticks) {
      this.#ticks.set(waiting, ticks + 1);
      if (!(waiting instanceof Connection)) {
        if (ticks < WAIT_TICKS) continue;
        this.#waiters.delete(waiting);
        this.#ticks.delete(waiting);
        waiting.reject(new Error("timeout: no connection is free"));
      } else if (this.#idle.includes(waiting)) {
        if (ticks < IDLE_TICKS) continue;
        this.#idle.splice(this.#idle.indexOf(waiting), 1);
        void waiting.close();
      } else {
        isBusy = true;
        if (ticks < ANSWER_TICKS) continue;
        waiting.destroy(new Error("timeout: the statement is not answered"));
      }
    }
    this.#isBusy = isBusy;
    if (!isBusy) this.#clock?.unref();
  }
}
