/**
 * Connections to Postgres. Only this file uses the driver `pg`.
 *
 * @module
 * @see https://node-postgres.com
 */
// deno-lint-ignore no-import-prefix -- no dependency of the server
import driver from "npm:pg@^8.16.0";
import type { ConnectionOptions } from "./connection_options.ts";
import { PostgresError } from "./failure.ts";

/** The time after which a connection that does not respond is closed. */
const ANSWER_MILLISECONDS = 6000;
const IDLE_MILLISECONDS = 60_000;

export interface Statement {
  /** The name under which a connection caches the statement's plan. */
  name: string;
  text: string;
  values: unknown[];
}

/** A row, by the names of its columns. */
export type Row = Record<string, unknown>;

interface Answer {
  command: string | null;
  rows: Row[];
}

/**
 * The part of the driver that is used. Its published types need those of Node.
 */
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
    on(
      event: "connect" | "remove",
      listener: (client: PoolClient) => void,
    ): void;
    end(): Promise<void>;
  };
  Client: new (
    options: ConnectionOptions & { query_timeout: number },
  ) => Client;
}

/** A connection of a pool, until it is released. */
interface PoolClient {
  query(
    statement: { name?: string; text: string; values: unknown[] },
  ): Promise<Answer>;
  on(event: "error", listener: () => void): void;
  off(event: "error", listener: () => void): void;
  emit(event: "error", error: unknown): void;
  /** Returns the connection to the pool, or closes it after an error. */
  release(error?: unknown): void;
}

/** A single connection. */
interface Client {
  /** The number of the server's process, reported by the server or a pooler. */
  readonly processID: number;
  connect(): Promise<void>;
  query(text: string): Promise<Answer>;
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

/** The connections of a process, which statements share. */
export class Connections {
  readonly #pool: InstanceType<Driver["Pool"]>;
  readonly #clients = new Set<PoolClient>();

  /** @param max the maximum number of simultaneous connections */
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
    // If an idle connection is lost, the pool opens another.
    this.#pool.on("error", ignore);
    this.#pool.on("connect", (client) => this.#clients.add(client));
    this.#pool.on("remove", (client) => this.#clients.delete(client));
  }

  /**
   * Runs a `select`: one round trip on a free connection.
   *
   * @throws {PostgresError} if the response belongs to another statement
   */
  async query({ name, text, values }: Statement): Promise<Row[]> {
    const client = await this.#pool.connect();
    // If the connection fails, its statement fails too, and reports the
    // failure.
    client.on("error", ignore);
    let failure: unknown;
    try {
      return rowsOf(
        await client.query({
          ...this.isPrepared() && { name },
          text,
          values,
        }),
      );
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.off("error", ignore);
      client.release(failure);
      if (isLate(failure)) this.#closeIdle(failure);
    }
  }

  /**
   * Closes the idle connections. If one connection gets no response, the others
   * likely lead to the same unreachable server.
   */
  #closeIdle(failure: unknown): void {
    for (const client of this.#clients) {
      try {
        // The pool closes an idle connection that fails. A busy one has a
        // listener that ignores the error. For a moment it has none: then
        // `emit` throws.
        client.emit("error", failure);
      } catch {
        // The connection is busy, and stays open.
      }
    }
  }

  /** Runs several statements as one transaction. */
  async script(text: string): Promise<void> {
    await this.#pool.query(text);
  }

  /** Closes each connection after the response to its statement. */
  close(): Promise<void> {
    return this.#pool.end();
  }
}

/**
 * Returns the rows of a `select`.
 *
 * @throws {PostgresError} if the answer belongs to another statement
 */
function rowsOf({ command, rows }: Answer): Row[] {
  if (command === "SELECT") return rows;
  // The rows of another statement would look like a missing record.
  throw new PostgresError(
    `a pooler between gave the answer of another statement (${command})`,
    { isTransient: true },
  );
}

/** True for the error of a statement without a response in time. */
function isLate(error: unknown): boolean {
  return error instanceof Error && /^Query read timeout/.test(error.message);
}

/** A connection that receives notifications. */
export class NotificationConnection {
  onHeard: (payload: string) => void = ignore;
  /** Called when a listening connection is lost. */
  onEnd: () => void = ignore;
  #client?: Client;

  constructor(
    private readonly options: ConnectionOptions,
    private readonly channel: string,
  ) {}

  /**
   * Connects and listens, and closes the former connection.
   *
   * @param text a statement to run too; the connection then does not keep the
   * process alive
   * @throws {Error} of the driver
   */
  async listen(text?: string): Promise<void> {
    this.drop();
    const client = new pg.Client({
      ...this.options,
      query_timeout: ANSWER_MILLISECONDS,
    });
    this.#client = client;
    let [isListening, isOver] = [false, false];
    const end = () => {
      if (isListening && !isOver && this.#client === client) this.onEnd();
      isOver = true;
    };
    client.on("error", end);
    client.on("end", end);
    client.on("notification", ({ payload }) => {
      if (this.#client === client) this.onHeard(payload ?? "");
    });
    try {
      await client.connect();
      await client.query(`LISTEN "${this.channel}"`);
      if (text) await client.query(text);
      if (text) client.unref();
      if (isOver) throw new Error("Connection terminated unexpectedly");
      isListening = true;
    } catch (error) {
      if (this.#client === client) this.drop();
      throw error;
    }
  }

  /**
   * Runs a statement, after which the connection does not keep the process
   * alive.
   */
  async settle(text: string): Promise<void> {
    await this.#client?.query(text);
    this.#client?.unref();
  }

  /**
   * True if there is no pooler. Poolers report process numbers of their own.
   *
   * @throws {PostgresError} if the response belongs to another statement
   */
  async isDirect(): Promise<boolean> {
    const client = this.#client!;
    const [row] = rowsOf(await client.query("select pg_backend_pid() as id"));
    return row.id === client.processID;
  }

  /** Closes the connection without waiting for a server that hangs. */
  drop(): void {
    void this.close();
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(ignore);
  }
}
