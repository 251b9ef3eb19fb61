/**
 * Failures of Postgres, explained to the operator: the reason, and the fix.
 * They never contain a password or a stored value.
 *
 * @module
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
import { KvLockedError } from "../../src/core/kv/kv_error.ts";
import { REPLACED_CODE } from "./layout.ts";

/** A failure of a Postgres database. */
export class PostgresError extends Error {
  /** `PostgresError` */
  override name = "PostgresError";
  /** The reason alone; the message also says how to fix it. */
  readonly reason: string;
  /** The way to fix the failure, if it is known. */
  readonly fix?: string;
  /** The code of Postgres or of the system, such as `28P01`. */
  readonly code?: string;
  /** True if the failure may soon be over, as while a server starts up. */
  readonly isTransient: boolean;
  /** The seconds for which a start waits for the end of the failure. */
  readonly patienceSeconds: number;

  /** Makes the error from a reason, and the way to fix it. */
  constructor(
    reason: string,
    { fix, code, isTransient = false, patienceSeconds = 10 }: {
      fix?: string;
      code?: string;
      isTransient?: boolean;
      patienceSeconds?: number;
    } = {},
  ) {
    super(fix === undefined ? reason : `${reason}. Fix: ${fix}`);
    this.reason = reason;
    this.fix = fix;
    this.code = code;
    this.isTransient = isTransient;
    this.patienceSeconds = patienceSeconds;
  }
}

interface Reason {
  words: string;
  fix: string;
  isTransient?: boolean;
  patienceSeconds?: number;
}

const CERTIFICATE_FIX =
  "Give the CA's file in sslrootcert, and the name that " +
  "the certificate has as the host";

/** The fix for a role that lacks a right. */
export const RIGHTS_FIX =
  "Use the role that owns the schema, or grant what docs/postgres.md names " +
  "under The least rights";

/** The reason of a read-only database. */
export const READ_ONLY =
  "it takes no writes (a replica, or default_transaction_read_only)";
export const READ_ONLY_FIX =
  "Use the address of the primary, or switch default_transaction_read_only off";

const REASONS: Record<string, Reason> = {
  ECONNREFUSED: {
    words: "nothing listens there",
    fix: "Start Postgres, or look at the host and the port",
    isTransient: true,
  },
  ENOTFOUND: { words: "its host is unknown", fix: "Look at the host" },
  EAI_AGAIN: {
    words: "its host cannot be looked up",
    fix: "Look at the host, and at the name server",
    isTransient: true,
  },
  "57P03": {
    words: "it is starting up or shutting down",
    fix: "Wait until it accepts connections",
    isTransient: true,
  },
  "57P01": {
    words: "it is shutting down",
    fix: "Start it again",
    isTransient: true,
  },
  "53300": {
    words: "it has too many connections (max_connections, or the role's limit)",
    fix: "Raise the limit, set KV_CONNECTIONS lower, or put pgbouncer between",
    isTransient: true,
  },
  "53100": {
    words: "its disk is full",
    fix: "Make room on the disk of Postgres",
  },
  "28P01": {
    words: "the password is wrong, or the role does not exist",
    fix: "Put the role's password in the address or in PGPASSWORD, or make " +
      "the role as docs/postgres.md does",
  },
  "28000": {
    words: "the role may not connect, or does not exist",
    fix: "Make the role as docs/postgres.md does, and look at pg_hba.conf",
  },
  "3D000": {
    words: "the database does not exist",
    fix: "Make it as docs/postgres.md does",
  },
  "42501": {
    words: "the role lacks a right",
    fix: RIGHTS_FIX,
  },
  "25006": {
    words: READ_ONLY,
    fix: READ_ONLY_FIX,
  },
  [REPLACED_CODE]: {
    words: "its tables were dropped and made again, or it is another server",
    fix: "Start this process again, and stop every process before a restore",
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    words: "its certificate is of an unknown CA",
    fix: CERTIFICATE_FIX,
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    words: "its certificate is another host's",
    fix: CERTIFICATE_FIX,
  },
};
for (
  const alias of [
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  ]
) REASONS[alias] = REASONS.UNABLE_TO_VERIFY_LEAF_SIGNATURE;

/**
 * The failures that pgbouncer reports. They are told apart by their words,
 * because the code is 08P01 for all of them, or depends on the version.
 */
const POOLER_REASONS: readonly [RegExp, Reason][] = [
  [/server_login_retry/, {
    words: "pgbouncer could not sign in to Postgres, and pauses",
    fix: "Wait for the 15 seconds of its server_login_retry, or set that to " +
      "1; then look at its log",
    isTransient: true,
    // Longer than server_login_retry and what came before it.
    patienceSeconds: 30,
  }],
  [/max_client_conn|no more connections allowed/, {
    words: "pgbouncer has too many clients",
    fix: "Raise its max_client_conn, or set KV_CONNECTIONS lower",
    isTransient: true,
  }],
  [/query_wait_timeout/, {
    words: "pgbouncer had no connection to Postgres in time",
    fix: "Look if Postgres runs, raise default_pool_size of pgbouncer, or " +
      "set KV_CONNECTIONS lower",
    isTransient: true,
  }],
  [/cannot connect to server|server down|server conn crashed/, {
    words: "pgbouncer does not reach Postgres",
    fix: "Start Postgres, or look at its host and port in pgbouncer.ini",
    isTransient: true,
  }],
  [
    /database system is |bouncer is shutting down|server is shutting down/,
    REASONS["57P03"],
  ],
  [/(?:SASL|password) authentication failed|no such user/, REASONS["28P01"]],
  [/^(?:no such database|database "[^"]*" does not exist)/, REASONS["3D000"]],
];

/** The codes of commits that failed to get a lock. */
const LOCKED = ["55P03", "40P01", "40001"];

/**
 * Converts an error of the driver to its class, with a message without secrets.
 *
 * @param role the role that connects, for the message
 */
export function failureOf(
  error: unknown,
  place: string,
  role?: string,
): Error {
  if (error instanceof PostgresError) {
    return new PostgresError(`${place}: ${error.reason}`, error);
  }
  const { code, message } = error as { code?: string; message: string };
  if (code !== undefined && LOCKED.includes(code)) {
    return new KvLockedError(`${place}: ${code} ${message}`);
  }
  const reason = POOLER_REASONS.find(([words]) => words.test(message))?.[1] ??
    REASONS[code ?? ""] ?? reasonInWords(message);
  const named = role === undefined ? "the role" : `the role "${role}"`;
  const words = reason
    ? `${reason.words.replace("the role", named)} (${message})`
    : message;
  return new PostgresError(
    `${place}: ${code === undefined ? "" : `${code} `}${words}`,
    { ...reason, code },
  );
}

/** Finds the reason of an error that has no code. */
function reasonInWords(message: string): Reason | undefined {
  if (/does not support SSL/.test(message)) {
    return {
      words: "it speaks no TLS",
      fix: "Switch TLS on there, or add sslmode=disable in a network of your " +
        "own",
    };
  }
  if (/timeout|timed out/i.test(message)) {
    return {
      words: "it does not answer",
      fix: "Look at the host, the port, and the firewall between",
      isTransient: true,
    };
  }
  if (/NotValidForName/i.test(message)) {
    return REASONS.ERR_TLS_CERT_ALTNAME_INVALID;
  }
  if (/certificate|UnknownIssuer|self.signed/i.test(message)) {
    return REASONS.UNABLE_TO_VERIFY_LEAF_SIGNATURE;
  }
  // A server that stops drops its connections without a code.
  if (/terminated|ECONNRESET|closed|not queryable/i.test(message)) {
    return {
      words: "the connection was cut",
      fix: "Look at the log of Postgres",
      isTransient: true,
    };
  }
}
