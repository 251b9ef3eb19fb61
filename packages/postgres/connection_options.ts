/**
 * The options of the connections to a database.
 *
 * @module
 */
import { isIP } from "node:net";
import type { Address, Tls } from "./address.ts";
import { PostgresError } from "./failure.ts";
import { ScramSecrets } from "./scram.ts";

/** The time a statement may take. A commit that was given up ends after it. */
const STATEMENT_MILLISECONDS = 4500;
/** The options of all connections to a database. */
export interface ConnectionOptions {
  host: string;
  port: number;
  /** The settings of the session, `user` and `database` among them. */
  settings: Record<string, string>;
  /** True if the database is on this machine. */
  isHere: boolean;
  /** Returns the password. A function: an object that is logged hides it. */
  password(): string;
  secrets: ScramSecrets;
  /** The options of TLS; undefined without it. */
  tls?: {
    ca?: string;
    rejectUnauthorized: boolean;
    servername?: string;
    checkServerIdentity?(): undefined;
  };
}

/** Makes the options of connections from an address. */
export async function connectionOptions(
  { host, port, database, user, password: given, tls, isHere }: Address,
  { hasTimeout }: { hasTimeout: boolean },
): Promise<ConnectionOptions> {
  const password = () => {
    if (given) return given;
    throw new PostgresError("it wants a password, and there is none", {
      fix: "Set PGPASSWORD, or write the password in the address",
    });
  };
  return {
    host,
    port,
    settings: {
      user,
      database,
      application_name: "tool-server",
      client_encoding: "UTF8",
      ...hasTimeout && { statement_timeout: String(STATEMENT_MILLISECONDS) },
    },
    isHere,
    password,
    secrets: new ScramSecrets(password),
    tls: await tlsOptions(tls, host),
  };
}

async function tlsOptions(
  { mode, rootCertificate }: Tls,
  host: string,
): Promise<ConnectionOptions["tls"]> {
  if (mode === "disable") return undefined;
  const ca = rootCertificate === undefined
    ? undefined
    : await readText(rootCertificate).catch((error: Error) => {
      throw new PostgresError(`its sslrootcert: ${error.message}`, {
        fix: "Give the path of the CA's PEM file, in a folder that this " +
          "process may read (data, unless its command names another)",
      });
    });
  // As libpq has it: `require` checks the certificate only against a given CA.
  const rejectUnauthorized = mode !== "require" || ca !== undefined;
  return {
    ca,
    rejectUnauthorized,
    // An IP address is no server name in TLS.
    ...isIP(host) === 0 && { servername: host },
    ...mode !== "verify-full" && { checkServerIdentity: () => undefined },
  };
}

async function readText(file: string): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  return await readFile(file, "utf8");
}
