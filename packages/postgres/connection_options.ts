/**
 * The options of the connections to a database.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Address, Tls } from "./address.ts";
import { PostgresError } from "./failure.ts";

/**
 * The time limit of a statement. After it, a commit without a response has
 * ended.
 */
const STATEMENT_MILLISECONDS = 4500;
/**
 * The time limit to connect. Shorter than an operation's, so that the log has
 * the reason.
 */
const CONNECT_MILLISECONDS = 4500;

/** The options of connections, as the driver names them. */
export interface ConnectionOptions {
  host: string;
  port: number;
  database: string;
  user: string;
  password(): string;
  ssl: false | {
    ca?: string;
    rejectUnauthorized: boolean;
    servername?: string;
    checkServerIdentity?(): undefined;
  };
  application_name: string;
  keepAlive: boolean;
  keepAliveInitialDelayMillis: number;
  connectionTimeoutMillis: number;
  statement_timeout?: number;
}

export async function connectionOptions(
  { host, port, database, user, password, tls }: Address,
  { hasTimeout }: { hasTimeout: boolean },
): Promise<ConnectionOptions> {
  return {
    host,
    port,
    database,
    user,
    // The password is a function, so that it is not shown if the object is
    // logged. The driver calls it when Postgres asks for the password.
    password() {
      if (password) return password;
      throw new PostgresError("it wants a password, and there is none", {
        fix: "Set PGPASSWORD, or write the password in the address",
      });
    },
    ssl: await tlsOptions(tls, host),
    application_name: "tool-server",
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MILLISECONDS,
    ...hasTimeout && { statement_timeout: STATEMENT_MILLISECONDS },
  };
}

async function tlsOptions(
  { mode, rootCertificate }: Tls,
  host: string,
): Promise<ConnectionOptions["ssl"]> {
  if (mode === "disable") return false;
  const ca = rootCertificate === undefined
    ? undefined
    : await readFile(rootCertificate, "utf8").catch((error: Error) => {
      throw new PostgresError(`its sslrootcert: ${error.message}`, {
        fix: "Give the path of the CA's PEM file, in a folder that this " +
          "process may read (data, unless its command names another)",
      });
    });
  // As in libpq: `require` checks the certificate only if a CA is given.
  const rejectUnauthorized = mode !== "require" || ca !== undefined;
  return {
    ca,
    rejectUnauthorized,
    // An IP address cannot be a server name in TLS.
    ...isIP(host) === 0 && { servername: host },
    ...mode !== "verify-full" && { checkServerIdentity: () => undefined },
  };
}
