/**
 * Opens a database in Postgres: reads its address, makes its layout, and tells
 * the operator about its settings.
 *
 * @module
 */
import { env } from "node:process";
import { type Address, parseDatabaseUrl, printPlace } from "./address.ts";
import { connectionOptions } from "./connection_options.ts";
import { Connections, NotificationConnection, type Row } from "./driver.ts";
import {
  failureOf,
  PostgresError,
  READ_ONLY,
  READ_ONLY_FIX,
  RIGHTS_FIX,
} from "./failure.ts";
import {
  channelOf,
  LAYOUT,
  layoutSql,
  presenceSql,
  readLayoutSql,
  statusSql,
} from "./layout.ts";
import { Listener } from "./listener.ts";
import { PostgresKv } from "./postgres_kv.ts";

/** The oldest accepted Postgres: 13. The tests run on 15. */
const OLDEST_VERSION = 130_000;

const CONNECTIONS = 10;
const PAUSE_MILLISECONDS = 250;

/** The options of {@linkcode openPostgres}. */
export interface PostgresOptions {
  /** The password, if the address has none; by default `PGPASSWORD`. */
  password?: string;
  /**
   * The maximum number of connections, besides the one that listens; 10 by
   * default.
   */
  connections?: number;
  /**
   * The first parts of the keys whose changes are announced to other processes;
   * all by default. Announcements cost a third of the rate of commits.
   */
  announced?: readonly string[];
  /** Called with warnings for an operator. */
  onWarning?(message: string, properties: Record<string, unknown>): void;
  /** Called once if the start waits for a database that is not ready. */
  onWaiting?(error: PostgresError): void;
}

/**
 * Opens a database in Postgres, and makes missing tables.
 *
 * @param url `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with `sslmode`
 * (`disable`, `require`, `verify-ca`, `verify-full`), `sslrootcert` (a file)
 * and `schema` as parameters. By default the certificate is fully checked; on
 * loopback nothing is encrypted.
 * @throws {PostgresError} with the reason and the fix
 */
export async function openPostgres(
  url: string,
  options: PostgresOptions = {},
): Promise<PostgresKv> {
  const address = parseDatabaseUrl(url, options.password ?? readPassword());
  const started = performance.now();
  for (let tries = 1;; tries++) {
    try {
      return await open(address, options);
    } catch (cause) {
      const place = printPlace(address);
      const error = failureOf(cause, place, address.user) as PostgresError;
      const seconds = (performance.now() - started) / 1000;
      if (!error.isTransient || seconds > error.patienceSeconds) throw error;
      if (tries === 1) options.onWaiting?.(error);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
  }
}

/** Reads `PGPASSWORD`. Undefined if it is unset or may not be read. */
function readPassword(): string | undefined {
  try {
    return env.PGPASSWORD;
  } catch {
    return undefined;
  }
}

async function open(
  address: Address,
  { connections: max = CONNECTIONS, announced, onWarning }: PostgresOptions,
): Promise<PostgresKv> {
  const { schema } = address;
  const { connections, listener, status } = await connect(address, max);
  const place = printPlace(address);
  const kinds = announced && new Set<unknown>(announced);
  const kv = new PostgresKv({
    connections,
    listener,
    schema,
    place,
    isAnnounced: ([kind]) => kinds?.has(kind) ?? true,
  });
  try {
    await prepare(connections, address, status);
    await listener.start((payload) => kv.announce(payload));
  } catch (error) {
    await kv[Symbol.asyncDispose]();
    throw error;
  }
  const warn = (message: string) => onWarning?.(message, { database: place });
  for (const words of doubts(status, listener.hears)) warn(words);
  return kv;
}

/**
 * Connects. If a pooler refuses the time limit of statements, connects without
 * it.
 */
async function connect(address: Address, max: number) {
  for (const hasTimeout of [true, false]) {
    const options = await connectionOptions(address, { hasTimeout });
    const { schema } = address;
    const listener = new Listener(
      new NotificationConnection(options, channelOf(schema)),
      presenceSql(schema),
    );
    // A pooler that passes on no notifications may run each statement on
    // another connection, where it is not prepared.
    const isPrepared = () => listener.hears;
    const connections = new Connections(options, { max }, isPrepared);
    try {
      const [status] = await connections.query({
        name: "kv_status",
        text: statusSql(address.schema),
        values: [],
      });
      return { connections, listener, status };
    } catch (error) {
      await connections.close();
      const { message } = error as Error;
      if (!hasTimeout || !/startup parameter/.test(message)) throw error;
    }
  }
  throw new Error("unreachable");
}

/** Makes the layout, or checks it. */
async function prepare(
  connections: Connections,
  address: Address,
  status: Row,
): Promise<void> {
  const { schema, user } = address;
  if (status.version as number < OLDEST_VERSION) {
    throw new PostgresError(`it is version ${status.version}`, {
      fix: "Use PostgreSQL 13 or later",
    });
  }
  if (status.is_read_only) {
    throw new PostgresError(READ_ONLY, { fix: READ_ONLY_FIX });
  }
  const layout = status.has_layout ? await layoutOf(connections, address) : 0;
  if (layout >= LAYOUT) return;
  await connections.script(layoutSql(schema)).catch((error) => {
    if (error.code !== "42501" || status.has_layout) throw error;
    throw new PostgresError(
      `the role cannot make its tables: ${error.message}`,
      {
        fix: "Have an administrator run there: create schema " +
          `${schema} authorization "${user}"`,
      },
    );
  });
}

/** Returns the layout number of the database. */
async function layoutOf(
  connections: Connections,
  { schema, user }: Address,
): Promise<number> {
  const [{ number, oldest, lacks }] = await connections.query({
    name: "kv_layout",
    text: readLayoutSql(schema),
    values: [],
  }) as { number: number; oldest: number; lacks: string }[];
  if (oldest > LAYOUT) {
    throw new PostgresError(
      `its layout is ${number}, for versions that know layout ${oldest}, and ` +
        `this one knows ${LAYOUT}`,
      { fix: "Start the newer version of the server again" },
    );
  }
  if (lacks === "") return number;
  throw new PostgresError(`the role "${user}" lacks a right: ${lacks}`, {
    fix: RIGHTS_FIX,
  });
}

/** Yields warnings for the operator about doubtful settings of the database. */
function* doubts(
  {
    is_endless: isEndless,
    is_forgetful: isForgetful,
    is_superuser: isSuperuser,
  }: Row,
  hears: boolean,
): Generator<string> {
  if (!hears) {
    yield "Changes are polled for: a pooler in transaction mode passes no " +
      "notifications on";
  }
  if (isEndless) {
    yield "A statement may hang for ever: run ALTER ROLE … SET " +
      "statement_timeout = '4500ms'";
  }
  if (isSuperuser) {
    yield "The role is a superuser, and may read and change everything in this " +
      "Postgres: make one as docs/postgres.md does";
  }
  if (isForgetful) {
    yield "A crash of the database loses what was acknowledged: set " +
      "synchronous_commit and fsync to on";
  }
}
