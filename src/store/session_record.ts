/**
 * The record of a session, and the list entry by which it is found and counted.
 *
 * @module
 */
import type {
  Implementation,
  LoggingLevel,
} from "@modelcontextprotocol/server";
import { fingerprint } from "../crypto/crypto.ts";
import type { JsonObject } from "../json.ts";
import type { SessionRevision } from "../mcp/wire/revisions.ts";
import { sessionKey, sessionsOfKey } from "./keys.ts";
import type { Expiring } from "./record.ts";
import type { Transaction } from "./transaction.ts";

/** The lifetime of a session after its last use, in seconds. */
export const SESSION_SECONDS = 30 * 24 * 60 * 60;

/** The lifetime of a session until its first use: anyone may open one. */
export const UNUSED_SESSION_SECONDS = 60 * 60;

/** The record of a session. Times are epoch seconds. */
export interface Session extends Expiring {
  /** The {@linkcode import("../caller.ts").Caller.binding} of its caller. */
  binding: string;
  /** The grant that used it last; the session ends with it. */
  grantId?: string;
  /**
   * The list that counts it: that of a network, for callers who are not told
   * apart; that of its binding if absent.
   */
  list?: string;
  revision: SessionRevision;
  /** Epoch milliseconds. */
  startedMilliseconds: number;
  clientInfo: Implementation;
  capabilities: JsonObject;
  logLevel?: LoggingLevel;
}

export interface SessionOfPerson extends Expiring {
  grantId?: string;
}

/** The key that lists a session: for its network, or for its binding. */
export function listKeyOf(
  id: string,
  { list, binding }: Pick<Session, "list" | "binding">,
): Deno.KvKey {
  return sessionsOfKey(list ?? binding, fingerprint(id));
}

/** Adds a session and its list entry to a commit. */
export function setSession(
  transaction: Transaction,
  id: string,
  session: Session,
): Transaction {
  const { expiresAt, grantId } = session;
  return transaction
    .set(sessionKey(id), session)
    .set<SessionOfPerson>(listKeyOf(id, session), { grantId, expiresAt });
}
