/**
 * The messages of Postgres's protocol, version 3.0: those that are sent, and
 * the parts of those that are received.
 *
 * @module
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
import { Buffer } from "node:buffer";

/** The bytes before the body of a message that is received: type and length. */
export const HEAD_BYTES = 5;

const PROTOCOL_VERSION = 196_608;
const TLS_REQUEST = 80_877_103;

/** The format of an argument, or of a result. */
const TEXT_FORMAT = 0;
const BINARY_FORMAT = 1;

/** The types of messages that are received. */
export const RECEIVED = {
  authentication: code("R"),
  bindComplete: code("2"),
  commandComplete: code("C"),
  dataRow: code("D"),
  error: code("E"),
  notification: code("A"),
  parseComplete: code("1"),
  ready: code("Z"),
  rowDescription: code("T"),
} as const;

/** A value of an argument: bytes are sent as they are, all else as text. */
export type Argument = Uint8Array | string | number;

/** A column of an answer. */
export interface Column {
  name: string;
  /** The number of its type in Postgres. */
  type: number;
}

/** A row of an answer, by the names of its columns. */
export type Row = Record<string, unknown>;

/** An error that Postgres reports. */
export class ServerError extends Error {
  constructor(
    message: string,
    /** The code, such as `28P01`. */
    readonly code: string,
  ) {
    super(message);
  }
}

function code(letter: string): number {
  return letter.charCodeAt(0);
}

/** Puts together a message of a type; without a type, one of a start. */
function message(type: string, ...parts: (Uint8Array | string)[]): Buffer {
  const body = parts.map((part) =>
    typeof part === "string" ? Buffer.from(`${part}\0`) : part
  );
  const size = body.reduce((sum, { length }) => sum + length, 4);
  return Buffer.concat([Buffer.from(type), int32(size), ...body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Asks for TLS. */
export function tlsRequest(): Buffer {
  return message("", int32(TLS_REQUEST));
}

/** Begins a connection, with settings of the session. */
export function startup(settings: Record<string, string>): Buffer {
  const parts = Object.entries(settings).flat();
  return message("", int32(PROTOCOL_VERSION), ...parts, Buffer.of(0));
}

/** Answers a demand for a password in clear, or its hash. */
export function password(text: string): Buffer {
  return message("p", text);
}

/** Begins an authentication by a mechanism. */
export function saslFirst(mechanism: string, text: string): Buffer {
  const bytes = Buffer.from(text);
  return message("p", mechanism, int32(bytes.length), bytes);
}

/** Goes on with an authentication. */
export function saslNext(text: string): Buffer {
  return message("p", Buffer.from(text));
}

/** Carries out statements without arguments. */
export function simpleQuery(text: string): Buffer {
  return message("Q", text);
}

/** Says goodbye. */
export function terminate(): Buffer {
  return message("X");
}

/** Prepares a statement under a name, or under none. */
export function parse(name: string, text: string): Buffer {
  return message("P", name, text, NO_TYPES);
}

const NO_TYPES = Buffer.alloc(2);
/** Asks for the columns of the statement that was just bound. */
export const DESCRIBE = message("D", Buffer.from("P"), "");
/** Carries out what was bound, to its end; then the server is ready again. */
export const EXECUTE = Buffer.concat([
  message("E", "", int32(0)),
  message("S"),
]);

/** Binds arguments to a prepared statement; its results are to be binary. */
export function bind(name: string, values: readonly Argument[]): Buffer {
  const args = values.map((value) =>
    typeof value === "object" ? value : Buffer.from(String(value))
  );
  const nameBytes = Buffer.byteLength(name);
  const size = 1 + nameBytes + 1 + 2 + 2 * args.length + 2 + 4 +
    args.reduce((sum, { length }) => sum + 4 + length, 0);
  const bytes = Buffer.allocUnsafe(1 + 4 + size);
  bytes[0] = code("B");
  bytes.writeInt32BE(4 + size, 1);
  bytes[5] = 0;
  let at = 6 + bytes.write(name, 6);
  bytes[at++] = 0;
  at = bytes.writeInt16BE(args.length, at);
  for (const value of values) {
    const format = typeof value === "object" ? BINARY_FORMAT : TEXT_FORMAT;
    at = bytes.writeInt16BE(format, at);
  }
  at = bytes.writeInt16BE(args.length, at);
  for (const arg of args) {
    at = bytes.writeInt32BE(arg.length, at);
    bytes.set(arg, at);
    at += arg.length;
  }
  at = bytes.writeInt16BE(1, at);
  bytes.writeInt16BE(BINARY_FORMAT, at);
  return bytes;
}

/** Reads the columns of an answer. */
export function readColumns(body: Buffer): Column[] {
  const columns: Column[] = [];
  let at = 2;
  for (let left = body.readInt16BE(0); left > 0; left--) {
    const end = body.indexOf(0, at);
    const name = body.toString("utf8", at, end);
    // The table and its column come before the type, its format after.
    columns.push({ name, type: body.readInt32BE(end + 7) });
    at = end + 19;
  }
  return columns;
}

/** Reads a row of an answer. */
export function readRow(body: Buffer, columns: readonly Column[]): Row {
  const row: Row = {};
  let at = 2;
  for (const { name, type } of columns) {
    const length = body.readInt32BE(at);
    at += 4;
    row[name] = length < 0 ? null : readValue(body, at, length, type);
    at += Math.max(0, length);
  }
  return row;
}

function readValue(
  body: Buffer,
  at: number,
  length: number,
  type: number,
): unknown {
  switch (type) {
    case 16: // bool
      return body[at] === 1;
    case 17: // bytea
      return body.subarray(at, at + length);
    case 20: // int8
      return body.readBigInt64BE(at);
    case 23: // int4
      return body.readInt32BE(at);
    default:
      return body.toString("utf8", at, at + length);
  }
}

/** Reads an error. */
export function readError(body: Buffer): ServerError {
  const fields: Record<string, string> = {};
  for (let at = 0; body[at] !== 0 && at < body.length;) {
    const end = body.indexOf(0, at);
    fields[String.fromCharCode(body[at])] = body.toString("utf8", at + 1, end);
    at = end + 1;
  }
  return new ServerError(fields.M, fields.C);
}

/** Reads the text of a notification, which follows its channel. */
export function readPayload(body: Buffer): string {
  const start = body.indexOf(0, 4) + 1;
  return body.toString("utf8", start, body.length - 1);
}

/** Reads the name of the command that was carried out, such as `SELECT`. */
export function readCommand(body: Buffer): string {
  return body.toString("utf8", 0, body.length - 1).split(" ")[0];
}
