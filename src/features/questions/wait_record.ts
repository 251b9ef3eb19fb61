/**
 * The record of a wait, with its encrypted parts. Each part is bound to its
 * record, so that someone who can write to the database cannot move it to
 * another record.
 *
 * @module
 */
import type { Grant } from "../../core/oauth/grant.ts";
import { seal, unseal } from "../../core/crypto/crypto.ts";
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
import { grantOfRun } from "../../core/store/waiting_work.ts";
import { secretStore } from "../../core/store/secrets.ts";

/**
 * The maximum size in bytes of a question, and of an answer, as JSON in UTF-8.
 * A record holds both in encrypted form.
 */
export const MAX_WAIT_BYTES = 20_000;

/** The maximum number of waits of one kind that a person has at a time. */
export const MAX_WAITS_PER_PERSON = 100;

/**
 * The maximum number of pages on which one client may ask a person at a time,
 * so that other clients can ask too.
 */
export const MAX_WAITS_PER_CLIENT = 25;

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The person who has to answer, and the call or task that waits. */
export interface Waiting {
  subject: string;
  /**
   * The list that limits the wait; by default the subject's. Many people may
   * share a subject, such as all callers without credentials.
   */
  list?: string;
  /**
   * A person answers a page or an approval. Anyone who has the ID answers a
   * webhook.
   */
  kind: "page" | "webhook" | "approval";
  /**
   * Identifies the question of a call or task; a repeat of the call has the
   * same value.
   */
  asker: string;
  /**
   * The fingerprint of the question's content. Other content makes another
   * wait.
   */
  question: string;
  tool: string;
  clientId?: string;
  /**
   * The grant of the call, or the last grant that used the task. The wait ends
   * with this grant.
   */
  grantId?: string;
  /**
   * The durable work that waits. An answer resumes the work, and the wait ends
   * with the work.
   */
  taskId?: string;
  /** The server address that the work's run belongs to. */
  taskAddress?: string;
  /** The task, durable or not, that asks on a page. */
  pageTask?: string;
  /**
   * The name by which the last approved run of the same tool and arguments is
   * found. Undefined for durable work.
   */
  runs?: string;
  /** Only for approvals. */
  approval?: ApprovalState;
}

/** The end of a run by itself. */
export type RunEnd = "ok" | "tool_error" | "failed";

/** The progress of an approval. Times are epoch seconds. */
export interface ApprovalState {
  /**
   * The scope of the people who may approve. Undefined if the caller approves.
   */
  scope?: string;
  /** The passkey that an approval needs. */
  passkey?: "wanted" | "required";
  /** The seconds for which the answer is kept until the run begins. */
  seconds: number;
  /** The time until which a person can approve. The record is kept longer. */
  closesAt?: number;
  /** True if the answer is a refusal. */
  isRefused?: boolean;
  begunAt?: number;
  /**
   * The number of runs that have begun. All but the last have asked a question,
   * which puts the answer back.
   */
  runs?: number;
  endedAt?: number;
  /**
   * The end of the run. `unknown`: it was never stored, and a person has closed
   * the run instead. `withdrawn`: the client withdrew the approval while no run
   * was under way. `asked`: the run has asked a question, and only another run
   * may get the answer. `cut`: the permission for the run has ended.
   */
  outcome?:
    | RunEnd
    | "cancelled"
    | "cut"
    | "unknown"
    | "withdrawn"
    | "asked";
  /**
   * True if the answer holds the run's result, because the client had
   * disconnected.
   */
  hasResult?: boolean;
}

export interface WaitRecord extends Expiring, Omit<Waiting, "asker"> {
  /**
   * The key of the index entry by which the asking call or task finds this
   * wait.
   */
  askerKey: Deno.KvKey;
  clientName?: string;
  createdAt: number;
  state: "open" | "answered" | "used";
  /** The wait's ID and payload, encrypted for this record. */
  sealed?: string;
  /** The answer, encrypted like `sealed`. */
  sealedAnswer?: string;
}

/** A wait, decrypted. */
export interface Wait extends
  Omit<
    WaitRecord,
    "askerKey" | "question" | "taskId" | "sealed" | "sealedAnswer"
  > {
  key: Deno.KvKey;
  /** True in a list if the client's connection is paused. */
  isPaused?: boolean;
  /** The ID that opens the page, or with which a webhook answers. */
  id?: string;
  payload?: JsonObject;
  answer?: JsonObject;
}

/** The entry of a wait in its list. */
export interface ListedWait
  extends
    Expiring,
    Pick<WaitRecord, "kind" | "clientId" | "grantId" | "taskId" | "state"> {
  /** True once the approved run has ended. */
  hasEnded?: boolean;
  /** True if a person refused the call of an approval. */
  isRefused?: boolean;
  /** True if the client withdrew the approval. */
  isWithdrawn?: boolean;
}

/** The index entry by which an asking call or task finds its wait. */
export interface Pointer extends Expiring {
  wait: Deno.KvKey;
}

/**
 * True if two waits have the same client ID, or else the same personal access
 * token. All waits that have neither are treated as one client's.
 */
export function isSameClient(
  one: Pick<Waiting, "clientId" | "grantId">,
  other: typeof one,
): boolean {
  return one.clientId === other.clientId &&
    (one.clientId !== undefined || one.grantId === other.grantId);
}

/** Returns the name of the list that limits a wait. */
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

/**
 * Makes an approval's key in the queue of its scope. Approvals that close first
 * come first.
 */
function placeInQueue(
  [word, wait]: Deno.KvKey,
  { scope, closesAt }: ApprovalState,
): Deno.KvKey {
  return listingWaitKey(approvalListName(scope!), [
    word,
    `${closesAt} ${String(wait)}`,
  ]);
}

/** The seconds for which a page waits for its person. */
export const WAIT_SECONDS = 60 * 60;

/**
 * Writes the record at the head of a wait's list. A commit that checks this
 * record then fails if a wait of the list was created or answered since the
 * record was read.
 */
export function touchList(
  transaction: Transaction,
  wait: Pick<Waiting, "list" | "subject">,
  now: number,
): void {
  const head = waitsOfKey(listOfWait(wait));
  transaction.set(head, { expiresAt: now + WAIT_SECONDS });
}

export function putWait(
  transaction: Transaction,
  key: Deno.KvKey,
  record: WaitRecord,
): Transaction {
  const { askerKey, kind, clientId, grantId, taskId, state, expiresAt } =
    record;
  const { scope, endedAt, isRefused, outcome } = record.approval ?? {};
  const isWithdrawn = outcome === "withdrawn" || undefined;
  const end = { hasEnded: endedAt !== undefined, isRefused, isWithdrawn };
  if (scope !== undefined) {
    const queued = placeInQueue(key, record.approval!);
    if (state === "open") transaction.set(queued, { expiresAt });
    else transaction.delete(queued);
  }
  return transaction.set(key, record)
    .set<Pointer>(askerKey, { wait: key, expiresAt })
    .set<ListedWait>(
      listingWaitKey(listOfWait(record), key),
      { kind, clientId, grantId, taskId, state, expiresAt, ...end },
    );
}

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
  // The index entry of a used wait may point to a later wait of the same call
  // or task.
  return state === "used" ? transaction : transaction.expire(askerKey);
}

export type ReadWait = Pick<Found<WaitRecord>, "key" | "value">;

type Member = "payload" | "answer";

/** The members of a record to which its encrypted parts are bound. */
type Sealing = Pick<WaitRecord, "subject" | "kind" | "askerKey">;

/**
 * Makes the additional authenticated data that binds encrypted parts to their
 * record.
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

  /**
   * Reads a wait. Undefined if one of its parts was encrypted for another wait.
   */
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

/** True for a run that has begun, and whose end is not known. */
export const isOpenRun = (
  { state, approval }: Pick<WaitRecord, "state" | "approval">,
): boolean => state === "used" && approval?.endedAt === undefined;

/** The grant or the durable work that a wait needs. The wait ends with it. */
type Basis = Pick<Waiting, "grantId" | "taskId">;

/** True until the task of a wait, or the grant of its call, has ended. */
export async function isLive(
  database: Database,
  { grantId, taskId }: Basis,
): Promise<boolean> {
  // The grant does not matter: a task may continue with another grant of its
  // person.
  if (taskId !== undefined) {
    return await database.find(taskRunKey(taskId)) !== undefined;
  }
  return grantId === undefined ||
    await findGrant(database, grantId) !== undefined;
}

/**
 * Finds the grant or durable work that a new wait needs, so that the wait's
 * commit can check it.
 *
 * @throws {ChallengeError} if the grant has ended
 * @throws {HttpError} 409 if the task has ended
 */
export async function basisOf(
  database: Database,
  { grantId, taskId }: Basis,
): Promise<{ grant?: Found<Grant>; run?: Found<Expiring> }> {
  let grant: Found<Grant> | undefined;
  if (grantId !== undefined) {
    grant = await findGrant(database, grantId);
    if (!grant && taskId !== undefined) {
      // The task continues under the last grant that used it.
      grant = await findGrant(database, await grantOfRun(database, taskId));
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
