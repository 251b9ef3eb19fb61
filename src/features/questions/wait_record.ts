/**
 * The record of a wait, its sealed parts and its basis. The parts are sealed to
 * their record, so that no one who can write the database can move them to
 * another.
 *
 * @module
 */
import type { Grant } from "../../core/oauth/grant.ts";
import { seal, unseal } from "../../core/crypto/seal.ts";
import { ChallengeError, HttpError, StorageError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type {
  Database,
  Expiring,
  Found,
  Transaction,
} from "../../core/kv/database.ts";
import {
  grantKey,
  listingWaitKey,
  taskRunKey,
  waitsOfKey,
} from "../../core/kv/keys.ts";
import { userOfRun } from "../../core/store/waiting_work.ts";
import { secretStore } from "../../core/store/secrets.ts";

/**
 * The maximum size in bytes of a question, and of an answer, as JSON in UTF-8:
 * a record has room for both once they are sealed.
 */
export const MAX_WAIT_BYTES = 20_000;

/** The maximum number of waits of each kind that one person has at a time. */
export const MAX_WAITS_PER_PERSON = 100;

/**
 * The maximum number of pages of one client for a person, to leave room for
 * others.
 */
export const MAX_WAITS_PER_CLIENT = 25;

/** Counts the bytes of a text in UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The origin of a wait: its person, and the call or task that waits. */
export interface Waiting {
  subject: string;
  /**
   * The list by which the wait is limited, if that is not its subject's: many
   * people may share a subject, such as all callers without credentials.
   */
  list?: string;
  /**
   * A page and an approval are answered by a person, a webhook by anyone who has
   * the id.
   */
  kind: "page" | "webhook" | "approval";
  /**
   * The identity of the question of a call or task: a repeat finds the same
   * wait.
   */
  asker: string;
  /** The fingerprint of what is asked: another question is another wait. */
  question: string;
  tool: string;
  clientId?: string;
  /**
   * The grant of the call, or the grant that by now uses the task: the wait
   * ends with it.
   */
  grantId?: string;
  /** The durable work that waits: an answer wakes it, its end ends the wait. */
  taskId?: string;
  /** The address of the work's run. */
  taskAddress?: string;
  /** The task, durable or not, that asks on a page. */
  pageTask?: string;
  /** The progress of an approval; absent for other waits. */
  approval?: ApprovalState;
}

/** The progress of an approval. Times are epoch seconds. */
export interface ApprovalState {
  /** The scope of those who approve; undefined if the caller does. */
  scope?: string;
  /** The passkey that the press needs. */
  passkey?: "wanted" | "required";
  /** The seconds for which the answer stays until the run begins. */
  seconds: number;
  /** The end of the time to press; the record stays longer. */
  closesAt?: number;
  /** The beginning of the run. */
  begunAt?: number;
  endedAt?: number;
  /**
   * The end of the run; `unknown` if it never came, and a person has closed the
   * run instead.
   */
  outcome?: "ok" | "tool_error" | "failed" | "cancelled" | "unknown";
  /** True if the answer holds the run's result, because the client had left. */
  hasResult?: boolean;
}

export interface WaitRecord extends Expiring, Omit<Waiting, "asker"> {
  /** The index entry from the asking call or task to this wait. */
  askerKey: Deno.KvKey;
  /** The client's name in its grant. */
  clientName?: string;
  createdAt: number;
  state: "open" | "answered" | "used";
  /** The wait's id and payload, sealed to this record. */
  sealed?: string;
  /** The answer, encrypted like `sealed`. */
  sealedAnswer?: string;
}

/** A wait as it was read. */
export interface Wait extends
  Omit<
    WaitRecord,
    "askerKey" | "question" | "taskId" | "sealed" | "sealedAnswer"
  > {
  key: Deno.KvKey;
  /** In a list: true while its connection is paused. */
  isPaused?: boolean;
  /** The id that opens the page, or answers for a webhook. */
  id?: string;
  /** The question. */
  payload?: JsonObject;
  answer?: JsonObject;
}

/** A list entry of a person's wait. */
export interface ListedWait
  extends
    Expiring,
    Pick<WaitRecord, "kind" | "clientId" | "grantId" | "taskId" | "state"> {
  /** True once the run of an approval has ended. */
  hasEnded?: boolean;
}

export interface Pointer extends Expiring {
  wait: Deno.KvKey;
}

/**
 * True if two waits are of one client: by its ID, or by the access token that
 * its person made. All waits with neither count as one client's.
 */
export function isSameClient(
  one: Pick<Waiting, "clientId" | "grantId">,
  other: typeof one,
): boolean {
  return one.clientId === other.clientId &&
    (one.clientId !== undefined || one.grantId === other.grantId);
}

/** Returns the name of the list by which a wait is limited. */
export function listOfWait(
  { list, subject }: Pick<Waiting, "list" | "subject">,
): string {
  return list ?? subject;
}

/**
 * Returns the name of the list of approvals that wait for people with a scope.
 */
export function approvalListName(scope: string): string {
  return JSON.stringify(["approve", scope]);
}

/** Names the place of an approval in its queue: what ends first is first. */
function placeInQueue(
  [word, wait]: Deno.KvKey,
  { scope, closesAt }: ApprovalState,
): Deno.KvKey {
  return listingWaitKey(approvalListName(scope!), [
    word,
    `${closesAt} ${String(wait)}`,
  ]);
}

/** The time for which a page waits for its person, in seconds. */
export const WAIT_SECONDS = 60 * 60;

/**
 * Changes the record at the head of a wait's list. A commit that checks the
 * head fails if a wait of the list was opened or answered meanwhile.
 */
export function touchList(
  transaction: Transaction,
  wait: Pick<Waiting, "list" | "subject">,
  now: number,
): void {
  const head = waitsOfKey(listOfWait(wait));
  transaction.set(head, { expiresAt: now + WAIT_SECONDS });
}

/** Writes a wait, with its places in the lists. */
export function putWait(
  transaction: Transaction,
  key: Deno.KvKey,
  record: WaitRecord,
): Transaction {
  const { askerKey, kind, clientId, grantId, taskId, state, expiresAt } =
    record;
  const { scope, endedAt } = record.approval ?? {};
  const hasEnded = endedAt !== undefined;
  if (scope !== undefined) {
    const queued = placeInQueue(key, record.approval!);
    if (state === "open") transaction.set(queued, { expiresAt });
    else transaction.delete(queued);
  }
  return transaction.set(key, record)
    .set<Pointer>(askerKey, { wait: key, expiresAt })
    .set<ListedWait>(
      listingWaitKey(listOfWait(record), key),
      { kind, clientId, grantId, taskId, state, hasEnded, expiresAt },
    );
}

/** Removes a wait, with its places in the lists. */
export function dropWait(
  transaction: Transaction,
  found: Found<WaitRecord>,
): Transaction {
  const { key, value: { askerKey, state, approval } } = found;
  if (approval?.scope !== undefined) {
    transaction.delete(placeInQueue(key, approval));
  }
  transaction.check(found).expire(key)
    .delete(listingWaitKey(listOfWait(found.value), key));
  // The asker of a used wait may have another wait by now.
  return state === "used" ? transaction : transaction.expire(askerKey);
}

export type ReadWait = Pick<Found<WaitRecord>, "key" | "value">;

type Member = "payload" | "answer";

/** The members that a seal is bound to. */
type Sealing = Pick<WaitRecord, "subject" | "kind" | "askerKey">;

/**
 * Makes the text that ties a seal to its record, so that no text opens in
 * another record.
 */
function contextOf(
  { subject, kind, askerKey }: Sealing,
  [, wait]: Deno.KvKey,
  member: Member,
): string {
  return JSON.stringify([subject, kind, askerKey, wait, member]);
}

export type WaitSeals = ReturnType<typeof waitSeals>;

export function waitSeals(database: Database) {
  const secrets = secretStore(database);

  async function sealPart(
    record: Sealing,
    key: Deno.KvKey,
    member: Member,
    value: JsonObject,
  ): Promise<string> {
    const context = contextOf(record, key, member);
    const secret = await secrets.find("wait");
    return await seal(secret, JSON.stringify(value), context);
  }

  async function openPart(
    { key, value: record }: ReadWait,
    member: Member,
  ): Promise<JsonObject | undefined> {
    const text = member === "answer" ? record.sealedAnswer : record.sealed;
    if (text === undefined) return undefined;
    const context = contextOf(record, key, member);
    return JSON.parse(await unseal(await secrets.find("wait"), text, context));
  }

  /** Reads a wait; undefined if a part of it was sealed for another wait. */
  async function readWait(found: ReadWait): Promise<Wait | undefined> {
    const { askerKey: _, question: __, taskId: ___, ...own } = found.value;
    const { sealed: _id, sealedAnswer: _answer, ...plain } = own;
    try {
      const opened = await openPart(found, "payload") as
        | Pick<Wait, "id" | "payload">
        | undefined;
      const answer = await openPart(found, "answer");
      return { ...plain, ...opened, key: found.key, answer };
    } catch (error) {
      // The secret could not be read now: the wait may be valid all the same.
      if (error instanceof StorageError) throw error;
      return undefined;
    }
  }

  return { sealPart, openPart, readWait };
}

/**
 * The basis of a wait: the grant of the call that waits, or the run of the
 * task. A wait is opened only while its basis exists, and ends with it.
 */
type Basis = Pick<Waiting, "grantId" | "taskId">;

/** True unless the task of a wait, or the grant of its call, has ended. */
export async function isLive(
  database: Database,
  { grantId, taskId }: Basis,
): Promise<boolean> {
  // A task may go on with another grant of its person.
  if (taskId !== undefined) {
    return await database.find(taskRunKey(taskId)) !== undefined;
  }
  return grantId === undefined ||
    await findGrant(database, grantId) !== undefined;
}

/**
 * Finds the basis of a new wait, for a commit that checks it.
 *
 * @throws {ChallengeError} when the grant has ended
 * @throws {HttpError} 409 when the task has ended
 */
export async function basisOf(
  database: Database,
  { grantId, taskId }: Basis,
): Promise<{ grant?: Found<Grant>; run?: Found<Expiring> }> {
  let grant: Found<Grant> | undefined;
  if (grantId !== undefined) {
    grant = await findGrant(database, grantId);
    if (!grant && taskId !== undefined) {
      // The task goes on under the last grant that used it.
      grant = await findGrant(database, await userOfRun(database, taskId));
    }
    if (!grant) {
      throw new ChallengeError("The connection has ended", "invalid_token");
    }
  }
  if (taskId === undefined) return { grant };
  const run = await database.find<Expiring>(taskRunKey(taskId));
  if (run) return { grant, run };
  throw new HttpError(409, "The task has ended");
}

export async function findGrant(
  database: Database,
  id: string | undefined,
): Promise<Found<Grant> | undefined> {
  const grant = id && await database.find<Grant>(grantKey(id));
  return grant && grant.value.status === "active" ? grant : undefined;
}
