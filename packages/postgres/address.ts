/**
 * The address of a Postgres database, as in `postgres://` URLs.
 *
 * @module
 * @see https://www.postgresql.org/docs/current/libpq-connect.html
 */
import { PostgresError } from "./failure.ts";

/** The address of a database, and how to connect to it. */
export interface Address {
  host: string;
  port: number;
  database: string;
  user: string;
  password?: string;
  /** The schema of the tables. */
  schema: string;
  tls: Tls;
}

/** The encryption of a connection. */
export type Tls =
  & { mode: "disable" | "require" | "verify-ca" | "verify-full" }
  & { rootCertificate?: string };

const MODES = ["disable", "require", "verify-ca", "verify-full"] as const;

/** The URL parameters that are used. */
const PARAMETERS = ["sslmode", "sslrootcert", "schema"];

/** Parameters for other programs, which providers add to their URLs. */
const OTHERS = [
  ...["application_name", "channel_binding", "connect_timeout"],
  ...["connection_limit", "gssencmode", "pgbouncer", "pool", "pool_timeout"],
  ...["sslsni", "target_session_attrs"],
];

const DEFAULT_PORT = 5432;
const DEFAULT_SCHEMA = "tool_server";

/**
 * A name that needs no quotes, and is short enough for the name of a channel.
 */
const SCHEMA = /^[a-z_][a-z0-9_]{0,50}$/;

/** Matches a URL with several hosts, which other programs accept. */
const HOSTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?[^@/?#]*,[^@/?#]*(?:[/?#]|$)/;

/**
 * Parses a URL.
 *
 * @param password used if the URL has none
 * @throws {PostgresError}
 */
export function parseDatabaseUrl(text: string, password?: string): Address {
  if (HOSTS.test(text)) {
    throw new PostgresError("it has a list of hosts", {
      fix: "Use one name that leads to the primary, as docs/postgres.md says",
    });
  }
  const url = URL.parse(text);
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new PostgresError("it is no postgres:// address", {
      fix: "Use postgres://USER@HOST:5432/DATABASE",
    });
  }
  // A password with one of these characters would be cut off at that character.
  if (url.hash || /@/.test(url.pathname + url.search)) {
    throw new PostgresError(
      "its password has a /, a ? or a # that is no escape",
      {
        fix: "Write them as %2F, %3F and %23, or set PGPASSWORD",
      },
    );
  }
  const parameters = url.searchParams;
  for (const name of parameters.keys()) {
    if ([...PARAMETERS, ...OTHERS].includes(name)) continue;
    throw new PostgresError(`its parameter ${name} is unknown`, {
      fix: `Leave it out: there are ${PARAMETERS.join(", ")}`,
    });
  }
  const host = decoded(url.hostname).replace(/^\[(.*)\]$/, "$1");
  const user = decoded(url.username);
  const database = decoded(url.pathname.slice(1));
  if (!host || !user || !database || database.includes("/")) {
    throw new PostgresError("it lacks a user, a host or a database", {
      fix: "Use postgres://USER@HOST:5432/DATABASE",
    });
  }
  const schema = parameters.get("schema") ?? DEFAULT_SCHEMA;
  if (!SCHEMA.test(schema)) {
    throw new PostgresError("its schema is no plain name", {
      fix: "Use small letters, digits and _, at most 51",
    });
  }
  return {
    host,
    port: Number(url.port || DEFAULT_PORT),
    database,
    user,
    password: url.password ? decoded(url.password) : password,
    schema,
    tls: parseTls(parameters, host),
  };
}

/** Decodes a part of a URL. @throws {PostgresError} */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new PostgresError(
      "its % is no escape in the user, password or name",
      {
        fix: "Write it as %25, or set PGPASSWORD",
      },
    );
  }
}

/** Formats the address of a database, without user, password and options. */
export function printPlace({ host, port, database }: Address): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `postgres://${name}:${port}/${database}`;
}

/**
 * Reads the encryption of connections: by default none on loopback, and
 * elsewhere with all checks.
 */
function parseTls(parameters: URLSearchParams, host: string): Tls {
  const rootCertificate = parameters.get("sslrootcert") ?? undefined;
  const isHere = ["localhost", "127.0.0.1", "::1"].includes(host);
  const given = parameters.get("sslmode") ??
    (isHere && !rootCertificate ? "disable" : "verify-full");
  const mode = MODES.find((mode) => mode === given);
  if (mode) return { mode, rootCertificate };
  throw new PostgresError(`its sslmode ${given} is unknown`, {
    fix: `Use one of ${MODES.join(", ")}`,
  });
}
