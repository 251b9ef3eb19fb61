/**
 * Connections to Postgres, by the driver `pg`: the only file that knows it.
 *
 * @module
 * @see https://node-postgres.com
 */
// deno-lint-ignore no-import-prefix -- no dependency of the server
import driver from "npm:pg@^8.16.0";
import type { ConnectionOptions } from "./connection_options.ts";
import { PostgresError } from "./failure.ts";

/** The time after which a connection that does not answer is dropped. */
const ANSWER_MILLISECONDS = 6000;
const IDLE_MILLISECONDS = 60_000;

/** A statement with its arguments. */
export interface Statement {
  /** The name under which a connection caches the statement's plan. */
  name: string;
  text: string;
  values: unknown[];
}

/** A row of an answer, by the names of its columns. */
export type Row = Record<string, unknown>;

/** The part of the driver that is used. Its published types need Node's. */
interface Driver {
  Pool: new (
    options: ConnectionOptions & {
      max: number;
      query_timeout: number;
      idleTimeoutMillis: number;
      allowExitOnIdle: boolean;
    },
  ) => {
    connect(): Promise<PoolClient>;
    query(text: string): Promise<unknown>;
    on(event: "error", listener: () => void): void;
    end(): Promise<void>;
  };
  Client: new (options: ConnectionOptions) => Client;
}

/** A connection of a pool, until it is released. */
interface PoolClient {
  query(
    statement: { name?: string; text: string; values: unknown[] },
  ): Promise<{ command: string | null; rows: Row[] }>;
  on(event: "error", listener: () => void): void;
  off(event: "error", listener: () => void): void;
  /** Returns the connection to the pool; closes it if there was an error. */
  release(error?: unknown): void;
}

/** A single connection. */
interface Client {
  connect(): Promise<void>;
  query(text: string): Promise<unknown>;
  on(event: "error" | "end", listener: () => void): void;
  on(
    event: "notification",
    listener: (message: { payload?: string }) => void,
  ): void;
  unref(): void;
  end(): Promise<void>;
}

const pg: Driver = driver;
const ignore = () => {};

/** The connections of a process that statements take turns on. */
export class Connections {
  readonly #pool: InstanceType<Driver["Pool"]>;

  /** @param max the most connections at a time */
  constructor(
    options: ConnectionOptions,
    { max }: { max: number },
    private readonly isPrepared: () => boolean,
  ) {
    this.#pool = new pg.Pool({
      ...options,
      max,
      query_timeout: ANSWER_MILLISECONDS,
      idleTimeoutMillis: IDLE_MILLISECONDS,
      allowExitOnIdle: true,
    });
    // A connection that is lost while no one uses it is replaced.
    this.#pool.on("error", ignore);
  }

  /**
   * Carries out a `select`: one round trip on a connection that is free.
   *
   * @throws {PostgresError} when the answer is another statement's
   */
  async query({ name, text, values }: Statement): Promise<Row[]> {
    const client = await this.#pool.connect();
    // The statement fails with the connection, and reports it.
    client.on("error", ignore);
    let failure: unknown;
    try {
      const { command, rows } = await client.query({
        ...this.isPrepared() && { name },
        text,
        values,
      });
      if (command === "SELECT") return rows;
      // Its rows would look like a missing record.
      throw new PostgresError(
        `a pooler between gave the answer of another statement (${command})`,
        { isTransient: true },
      );
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.off("error", ignore);
      client.release(failure);
    }
  }

  /** Carries out several statements as one transaction. */
  async script(text: string): Promise<void> {
    await this.#pool.query(text);
  }

  /** Ends all connections, each once its statement has been answered. */
  close(): Promise<void> {
    return this.#pool.end();
  }
}

/** One connection that receives notifications. */
export class Ear {
  #client?: Client;

  /** @param onEnd called when the connection is lost */
  constructor(
    private readonly options: ConnectionOptions,
    private readonly channel: string,
    private readonly onHeard: (payload: string) => void,
    private readonly onEnd: () => void,
  ) {}

  /** Connects and listens. @throws {Error} of the driver */
  async listen(): Promise<void> {
    const client = new pg.Client(this.options);
    this.#client = client;
    let isOver = false;
    const end = () => {
      if (isOver || this.#client !== client) return;
      isOver = true;
      this.onEnd();
    };
    client.on("notification", ({ payload }) => this.onHeard(payload ?? ""));
    try {
      await client.connect();
      client.on("error", end);
      client.on("end", end);
      await client.query(`LISTEN "${this.channel}"`);
    } catch (error) {
      isOver = true;
      client.on("error", ignore);
      await client.end().catch(() => {});
      throw error;
    }
  }

  /** Carries out a statement; then the connection keeps no process alive. */
  async settle(text: string): Promise<void> {
    await this.#client?.query(text);
    this.#client?.unref();
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }
}
