/**
 * Every key in the database, with the record under it and, after ` · `, the
 * lifetime of the record. No other file spells keys. Text from outside is
 * replaced by its fingerprint (SHA-256), except the names of people and
 * networks. So keys are short and contain no credential.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { RequestId } from "../protocol/messages.ts";

const OWN_ID_CHARACTERS = 64;

/**
 * Bounds the length of an id. An id that is too long to be ours gets a key
 * without a record.
 */
function bounded(id: string): string {
  return id.length <= OWN_ID_CHARACTERS ? id : fingerprint(id);
}

/** Hashes a client's JSON-RPC request id; `1` and `"1"` are different ids. */
function ofRequest(requestId: RequestId): string {
  return fingerprint(JSON.stringify(requestId));
}

// These functions take exactly the parameters that they name, so that `map()`
// can call them.

/** Makes the key of a record that is the only one of its kind. */
const alone = (word: string) => (): Deno.KvKey => [word];
/** Makes keys from the fingerprint of a text from outside. */
const hashed = (word: string) => (text: string) => [word, fingerprint(text)];
/** Makes keys from several texts from outside, or a prefix of such keys. */
const allHashed = (word: string) => (...texts: string[]): Deno.KvKey => [
  word,
  ...texts.map((text) => fingerprint(text)),
];
/** Makes keys from ids that this server makes, but anyone may send. */
const ours = (word: string) => (id: string) => [word, bounded(id)];
/** Makes keys from names and numbers that never come from outside. */
const plain = (word: string) => (name: string | number) => [word, name];
/** Makes the key of an owner's list, or of an entry in the list. */
function ownedBy(word: string) {
  return (of: string, ...names: string[]) => [word, fingerprint(of), ...names];
}
/** Makes the key of a record from the key of its entry in an owner's list. */
const listedIn = (word: string) => ([, , name]: Deno.KvKey) => [word, name];

/** The last character of Unicode, which ends a range of keys. */
const LAST = "\u{10ffff}";

/**
 * Returns the range of a whole list, or of its entries after the name `after`.
 */
export function rangeOf(list: Deno.KvKey, after = "") {
  return { start: [...list, `${after}\0`], end: [...list, LAST] };
}

/** MCP session · 30 days after its last use. */
export const sessionKey = hashed("session");
/** MCP sessions of a person, or of a network · as long as the session. */
export const sessionsOfKey = ownedBy("session-of");
export const listedSessionKey = listedIn("session");
/** A question to a 2025 client, then its answer · 1 h. */
export function replyKey(sessionId: string, ...id: RequestId[]): Deno.KvKey {
  return ["reply", fingerprint(sessionId), ...id.map(ofRequest)];
}
/** Makes the prefix of the questions of a session from the session's key. */
export const repliesOfKey = ([, session]: Deno.KvKey) => ["reply", session];
/** A 2025 client's cancellation of a request · 5 min. */
export function cancellationKey(sessionId: string, id: RequestId): Deno.KvKey {
  return ["cancel", fingerprint(sessionId), ofRequest(id)];
}
/** Changes with every cancellation · for ever. */
export const cancellationHeadKey = alone("cancel-head");
/** A part of a text too long for one value · as its record. */
export const textKey = (id: string, part: number) => ["text", id, part];
/** A task · 24 h after its end. */
export const taskKey = ours("task");
/**
 * The list of a person's tasks, each with the grant that used it last. A caller
 * that may be many people has several lists · as the task.
 */
export function tasksOfKey(list: string, ...taskId: string[]): Deno.KvKey {
  return ["task-of", fingerprint(list), ...taskId.map(bounded)];
}
/** The lease of the process that works on a task · 30 s, renewed every 5. */
export const taskLeaseKey = ours("task-lease");
/** Durable work, and which process runs it · until the task ends. */
export const taskRunKey = ours("task-run");
/** A step of durable work · as long as the task. */
export function taskStepKey(taskId: string, ...id: string[]): Deno.KvKey {
  return ["task-step", bounded(taskId), ...id.map(fingerprint)];
}
/** An answer given to a task · as long as the task. */
export function taskAnswerKey(taskId: string, ...key: string[]): Deno.KvKey {
  return ["task-answer", bounded(taskId), ...key.map(fingerprint)];
}
/** Leads from a repeated call to the first, which still runs · as the task. */
export const repeatKey = ownedBy("repeat");
/** Mark of a tool that runs long; without a name, the prefix of all · 25 h. */
export const longToolKey = (...tool: string[]) => ["long-tool", ...tool];
/** The time to resume durable work of the server at `address` · as the task. */
export function wakeKey(address: string, dueSeconds: number, taskId: string) {
  return ["wake", fingerprint(address), dueSeconds, bounded(taskId)];
}
/** Returns the {@linkcode wakeKey}s whose time has come, oldest first. */
export function dueWakesRange(address: string, nowSeconds: number) {
  const [word, list] = wakeKey(address, 0, "");
  return { start: [word, list], end: [word, list, nowSeconds + 1] };
}
/**
 * Returns all {@linkcode wakeKey}s, or those of the addresses after a key's.
 */
export function wakesAfter([word, list]: Deno.KvKey = ["wake", ""]) {
  return { start: [word, list, Infinity], end: [word, Infinity] };
}
/** Returns the {@linkcode wakeKey}s of the same address, oldest first. */
export function wakesBeside([word, list]: Deno.KvKey) {
  return { start: [word, list], end: [word, list, Infinity] };
}
/** Returns the time and the task id of a key of {@linkcode wakeKey}. */
export function partsOfWake([, , dueSeconds, taskId]: Deno.KvKey) {
  return { dueSeconds: Number(dueSeconds), taskId: String(taskId) };
}
/** The failing steps of durable work, in one value · 7 days after the last. */
export const stepFailuresKey = alone("step-failures");
/** A wait for a person's or webhook's answer · 1 h, or as the tool says. */
export const waitKey = hashed("wait");
/** A person's pending waits · as {@linkcode waitKey}. */
export const waitsOfKey = ownedBy("wait-of");
export const listedWaitKey = listedIn("wait");
/** Makes the key of {@linkcode waitsOfKey} that lists a wait. */
export const listingWaitKey = (subject: string, [, wait]: Deno.KvKey) =>
  waitsOfKey(subject, String(wait));
/** Receipt of what was approved or refused · `OAUTH_LEDGER_DAYS`. */
export const receiptKey = plain("receipt");
/** Receipts of a caller, of an approver, and of all · as the receipt. */
export const receiptsOfKey = ownedBy("receipt-of");
export const listedReceiptKey = listedIn("receipt");
/** The passkeys of a person, in one record · 366 days after their last use. */
export const passkeysKey = hashed("passkeys");
/** Mark that passkeys were erased: a new one may not approve yet · 1 day. */
export const passkeysGoneKey = hashed("passkeys-gone");
/** Remembered approvals of a person: such calls run at once · a day at most. */
export const rememberedKey = ownedBy("remembered");
/** The wait for one question of a call or a task · as {@linkcode waitKey}. */
export const waitOfAskerKey = hashed("wait-of-asker");

/** A secret that all processes share, made once · for ever. */
export const secretKey = plain("secret");
/** A used `requestState`, now refused · 1 h longer than it is valid. */
export const spentStateKey = ours("spent");
/** The number of the newest change notification · for ever. */
export const changeHeadKey = alone("change-head");
/** One change notification · 5 min. */
export const changeKey = plain("change");

/** The last time a client that the operator set up got a token · 90 days. */
export const clientUseKey = hashed("client-use");
/** A client ID metadata document or JWKS of a client in use · 30 days. */
export const documentKey = hashed("document");
/** Used assertion (`jti`) · 1 h longer than the assertion is valid. */
export const assertionKey = allHashed("assertion");
/** The scopes that a browser has approved for a client · 90 days. */
export function approvalKey(browserFingerprint: string, what: string) {
  return ["approval", browserFingerprint, fingerprint(what)];
}
/** A person's connection with a client; without one, the prefix · 366 days. */
export const connectionKey = allHashed("connection");
/** Authorization request, from the consent page to the code · 10 min. */
export const authorizationRequestKey = hashed("authorization-request");
/** Authorization code · 60 s, and a day once it was used. */
export const codeKey = hashed("code");

/**
 * Grant · 60 s, then 30 days after its last refresh, 90 days in all; for a
 * machine 1 h, for a token that a person made up to a year.
 */
export const grantKey = (...id: string[]) => ["grant", ...id.map(bounded)];
/** Grants of a person · as long as the grant. */
export const grantsOfSubjectKey = ownedBy("grant-of-subject");
/** Mark of an erased person's grant: nothing more is stored for it · 1 day. */
export const erasedKey = ours("erased");
/** The latest calls of a grant, or of a machine · `OAUTH_LEDGER_DAYS`. */
export const ledgerKey = hashed("ledger");
/** The provider's tokens of a grant, sealed · as long as the grant may live. */
export const upstreamKey = ours("upstream");
/** Access token · 1 h; for one that a person made, up to a year. */
export const accessTokenKey = hashed("access-token");

/** A list of people: sorted by name, or by each word that a search finds. */
export type PersonOrder = "name" | "word";

/** The position of a person in a list of people. */
export type PeopleCursor = { text: string; person: string };

const personOf = (subject: string) => fingerprint(subject).slice(0, 16);
/**
 * A person in a list of people · a day longer than their grant may live. A
 * person whose grants have different lifetimes has several entries.
 */
export function personKey(
  by: PersonOrder,
  text: string,
  { subject, days }: { subject: string; days: number },
) {
  return [`person-${by}`, text, personOf(subject), days];
}

/** Returns the cursor of a key of {@linkcode personKey}. */
export function peopleCursorOf([, text, person]: Deno.KvKey): PeopleCursor {
  return { text: String(text), person: String(person) };
}

/** Returns the keys after a cursor whose text begins with `begins`. */
export function peopleRange(
  by: PersonOrder,
  { begins, after }: { begins: string; after?: PeopleCursor },
) {
  const kind = `person-${by}`;
  return {
    start: after ? [kind, after.text, after.person, Infinity] : [kind, begins],
    end: [kind, begins + LAST],
  };
}

/** The sort names and search words of a person · as {@linkcode personKey}. */
export function listedPersonKey(subject: string, ...mark: string[]) {
  return ["person-listed", personOf(subject), ...mark];
}
/** A browser's session at the account page · 1 h. */
export const accountSessionKey = hashed("account-session");
/** Account sessions of a person · as long as the session. */
export const accountSessionsOfKey = allHashed("account-session-of");
export const listedAccountSessionKey = listedIn("account-session");
/** Changes whenever a person makes an access token · 366 days. */
export const tokensOfKey = hashed("tokens-of");
/** A new personal access token, sealed, until its page shows it · 5 min. */
export function madeTokenKey(sessionId: string, grantId: string): Deno.KvKey {
  return ["made-token", fingerprint(sessionId), bounded(grantId)];
}
/** A person's account at a service, with sealed key · `ACCOUNT_IDLE_DAYS`. */
export const accountKey = ownedBy("account");
/** Our registration at another authorization server, sealed · 365 days. */
export const mcpClientKey = hashed("mcp-client");
/** Tokens that wait to be revoked, sorted by time · 3 days. */
export const revocationKey = (...at: Deno.KvKey) => ["revocation", ...at];

/** The block of a person or client; or the prefix of all · until lifted. */
export const blockKey = allHashed("block");
/** Changes whenever a block is made or lifted · for ever. */
export const blockHeadKey = alone("block-head");

/** A shared bucket of the rate limit · until it is full again. */
export function bucketKey(purpose: string, name: string): Deno.KvKey {
  return ["bucket", purpose, bounded(name)];
}
/** A closed fence: commits that check it are no longer applied · 1 day. */
export const fenceKey = plain("fence");
/** A mark of a commit whose request was answered with 503 · 1 day. */
export const givenUpKey = plain("given-up");
/** A record that is read and written to test the database · 60 s. */
export const probeKey = alone("probe");
/** A key without a record, read to see if the database is back. */
export const reachabilityKey = alone("reachability");
/** The last attempts to connect, all in one value · 30 days after the last. */
export const attemptsKey = alone("attempts");
/** The number of the layout of all records and keys · for ever. */
export const layoutKey = alone("layout");
/** The `BASE_URL` of the last start · for ever. */
export const lastStartKey = alone("last-start");
/** The mark of a database that records are being moved to · until they are. */
export const movingKey = alone("moving");
