/**
 * A connection to Postgres: one statement at a time, each in one round trip.
 *
 * @module
 * @see https://www.postgresql.org/docs/current/protocol-flow.html
 */
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { clearTimeout, setTimeout } from "node:timers";
import type { ConnectionOptions } from "./connection_options.ts";
import { PostgresError } from "./failure.ts";
import {
  type Argument,
  bind,
  type Column,
  DESCRIBE,
  EXECUTE,
  HEAD_BYTES,
  parse,
  readColumns,
  readCommand,
  readError,
  readPayload,
  readRow,
  RECEIVED,
  type Row,
  simpleQuery,
  startup,
  terminate,
} from "./messages.ts";
import { Login } from "./login.ts";
import { openSocket } from "./socket.ts";

/**
 * The time to connect: less than an operation may take, so that the log has the
 * reason.
 */
const CONNECT_MILLISECONDS = 4500;
/** A longer message is none of Postgres's: a record is much smaller. */
const MAX_MESSAGE_BYTES = 2 ** 24;

/** A statement with its arguments. */
export interface Statement {
  /** The name under which a connection caches the statement's plan. */
  name: string;
  text: string;
  values: Argument[];
}

/** An answer that is being received. */
interface Answer {
  columns: Column[];
  rows: Row[];
  /** The name of the command that was carried out. */
  command?: string;
  error?: Error;
  resolve(): void;
  reject(error: Error): void;
}

/** One connection, which is open. */
export class Connection {
  onNotification: (payload: string) => void = () => {};
  /** Called once, when the connection is lost. */
  onEnd: () => void = () => {};
  readonly #columns = new Map<string, Column[]>();
  readonly #socket: Socket;
  readonly #ended = Promise.withResolvers<void>();
  #login?: Login;
  #answer?: Answer;
  #received: Buffer = Buffer.alloc(0);
  #isOpen = true;

  private constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#login = new Login(options, (bytes) => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", (error: Error) => this.#end(error));
    socket.on("close", () => this.#end());
  }

  /**
   * Connects, and signs in.
   *
   * @throws {Error} of the system, of TLS or of Postgres
   */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const giveUp = new AbortController();
    const timer = setTimeout(
      () => giveUp.abort(new Error("timeout expired")),
      CONNECT_MILLISECONDS,
    );
    try {
      const socket = await openSocket(options, giveUp.signal);
      const connection = new Connection(socket, options);
      await connection.#send(startup(options.settings));
      connection.#login = undefined;
      return connection;
    } finally {
      clearTimeout(timer);
    }
  }

  /** False once the connection is lost or closed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Carries out a `select`.
   *
   * @param isPrepared true if the connection keeps what it has prepared
   * @throws {PostgresError} when the answer is another statement's
   */
  async query(
    { name, text, values }: Statement,
    { isPrepared }: { isPrepared: boolean },
  ): Promise<Row[]> {
    const cached = isPrepared ? name : "";
    const columns = isPrepared ? this.#columns.get(name) : undefined;
    const bound = bind(cached, values);
    const { rows, command, columns: seen } = await this.#send(
      Buffer.concat(
        columns
          ? [bound, EXECUTE]
          : [parse(cached, text), bound, DESCRIBE, EXECUTE],
      ),
      columns,
    );
    if (command !== "SELECT") {
      // Its rows would look like a missing record.
      throw new PostgresError(
        `a pooler between gave the answer of another statement (${command})`,
        { isTransient: true },
      );
    }
    if (isPrepared) this.#columns.set(name, seen);
    return rows;
  }

  /** Carries out several statements without arguments, as one transaction. */
  async script(text: string): Promise<void> {
    await this.#send(simpleQuery(text));
  }

  /** Lets the process end although the connection is open. */
  unref(): void {
    this.#socket.unref();
  }

  /** Says goodbye, and ends the connection. */
  async close(): Promise<void> {
    if (this.#isOpen) this.#socket.end(terminate());
    await this.#ended.promise;
  }

  /** Ends the connection at once, and the statement with an error. */
  destroy(error: Error): void {
    this.#socket.destroy();
    this.#end(error);
  }

  async #send(bytes: Buffer, columns: Column[] = []): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const answer: Answer = { columns, rows: [], resolve, reject };
    if (!this.#isOpen) throw new Error("The connection is closed");
    this.#answer = answer;
    this.#socket.write(bytes);
    await promise;
    return answer;
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#received.length > 0
      ? Buffer.concat([this.#received, chunk])
      : chunk;
    let at = 0;
    while (at + HEAD_BYTES <= bytes.length && this.#isOpen) {
      const length = bytes.readUInt32BE(at + 1);
      if (length > MAX_MESSAGE_BYTES) {
        return this.destroy(
          new PostgresError("it does not speak Postgres's protocol", {
            fix: "Look at the host and the port",
          }),
        );
      }
      const end = at + 1 + length;
      if (end > bytes.length) break;
      this.#read(bytes[at], bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    this.#received = bytes.subarray(at);
  }

  #read(type: number, body: Buffer): void {
    const answer = this.#answer;
    switch (type) {
      case RECEIVED.dataRow:
        answer?.rows.push(readRow(body, answer.columns));
        break;
      case RECEIVED.rowDescription:
        if (answer) answer.columns = readColumns(body);
        break;
      case RECEIVED.commandComplete:
        if (answer) answer.command = readCommand(body);
        break;
      case RECEIVED.error:
        if (answer) answer.error = readError(body);
        // Nothing follows: the server has closed.
        if (this.#login) this.destroy(answer!.error!);
        break;
      case RECEIVED.ready:
        this.#answer = undefined;
        if (answer?.error) answer.reject(answer.error);
        else answer?.resolve();
        break;
      case RECEIVED.authentication:
        this.#login?.answer(body).catch((error) => this.destroy(error));
        break;
      case RECEIVED.notification:
        this.onNotification(readPayload(body));
        break;
        // All else changes nothing here.
    }
  }

  #end(error?: Error): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.reject(
      answer.error ?? error ?? new Error("Connection terminated unexpectedly"),
    );
    this.#ended.resolve();
    this.onEnd();
  }
}
