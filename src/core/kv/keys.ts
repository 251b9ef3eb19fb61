/**
 * Every key in the database, with the record under it and the record's
 * lifetime. No other file spells keys. Text from outside is replaced by its
 * fingerprint (SHA-256), except the names of people and networks. So keys are
 * short and contain no credential.
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { RequestId } from "../protocol/messages.ts";

const OWN_ID_CHARACTERS = 64;

/**
 * Replaces an id by its fingerprint if the id is too long to be this server's,
 * so that its key is short and has no record.
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
/**
 * Makes keys from ids that this server made, or from texts sent as such ids.
 */
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

/** An MCP session. Lifetime: 30 days after its last use. */
export const sessionKey = hashed("session");
/** The MCP sessions of a person, or of a network. Lifetime: the session's. */
export const sessionsOfKey = ownedBy("session-of");
export const listedSessionKey = listedIn("session");
/** A question to a client of MCP 2025, then its answer. Lifetime: 1 h. */
export function replyKey(sessionId: string, ...id: RequestId[]): Deno.KvKey {
  return ["reply", fingerprint(sessionId), ...id.map(ofRequest)];
}
/** Returns the prefix of a session's questions. */
export const repliesOfKey = ([, session]: Deno.KvKey) => ["reply", session];
/** An MCP 2025 client's cancellation of a request. Lifetime: 5 min. */
export function cancellationKey(sessionId: string, id: RequestId): Deno.KvKey {
  return ["cancel", fingerprint(sessionId), ofRequest(id)];
}
/** Changes with every cancellation. Never expires. */
export const cancellationHeadKey = alone("cancel-head");
/**
 * A part of a text that is too long for one value. Lifetime: as long as the
 * record with the text's reference.
 */
export const textKey = (id: string, part: number) => ["text", id, part];
/** A task. Lifetime: 24 h after its end. */
export const taskKey = ours("task");
/**
 * A person's tasks, each with the grant that used it last. Lifetime: the
 * task's. A credential that many people share has several such lists, of which
 * each task is in one.
 */
export function tasksOfKey(list: string, ...taskId: string[]): Deno.KvKey {
  return ["task-of", fingerprint(list), ...taskId.map(bounded)];
}
/** The lease of the process that works on a task. Lifetime: 30 s. */
export const taskLeaseKey = ours("task-lease");
/** Durable work, and which process runs it. Lifetime: until the task ends. */
export const taskRunKey = ours("task-run");
/** A step of durable work. Lifetime: the task's. */
export function taskStepKey(taskId: string, ...id: string[]): Deno.KvKey {
  return ["task-step", bounded(taskId), ...id.map(fingerprint)];
}
/** An answer given to a task. Lifetime: the task's. */
export function taskAnswerKey(taskId: string, ...key: string[]): Deno.KvKey {
  return ["task-answer", bounded(taskId), ...key.map(fingerprint)];
}
/**
 * The first call of several equal ones, while it runs. Lifetime: the task's.
 */
export const repeatKey = ownedBy("repeat");
/** Marks a tool whose calls take long. Lifetime: 25 h. */
export const longToolKey = (...tool: string[]) => ["long-tool", ...tool];
/**
 * The time to resume durable work of the server at `address`. Lifetime: the
 * task's.
 */
export function wakeKey(address: string, dueSeconds: number, taskId: string) {
  return ["wake", fingerprint(address), dueSeconds, bounded(taskId)];
}
/**
 * Returns the range of {@linkcode wakeKey}s whose time has come, oldest first.
 */
export function dueWakesRange(address: string, nowSeconds: number) {
  const [word, list] = wakeKey(address, 0, "");
  return { start: [word, list], end: [word, list, nowSeconds + 1] };
}
/**
 * Returns the range of all {@linkcode wakeKey}s; given one of them, of those
 * with a later address.
 */
export function wakesOfLaterAddresses([word, list]: Deno.KvKey = ["wake", ""]) {
  return { start: [word, list, Infinity], end: [word, Infinity] };
}
/** Returns the range of {@linkcode wakeKey}s of one address, oldest first. */
export function wakesOfSameAddress([word, list]: Deno.KvKey) {
  return { start: [word, list], end: [word, list, Infinity] };
}
export function partsOfWake([, , dueSeconds, taskId]: Deno.KvKey) {
  return { dueSeconds: Number(dueSeconds), taskId: String(taskId) };
}
/** The failing steps of durable work, in one value. Lifetime: 7 days. */
export const stepFailuresKey = alone("step-failures");
/** A wait for a person's or webhook's answer. Lifetime: 1 h by default. */
export const waitKey = hashed("wait");
/** A person's pending waits. Lifetime: the wait's. */
export const waitsOfKey = ownedBy("wait-of");
export const listedWaitKey = listedIn("wait");
/** Returns the key of {@linkcode waitsOfKey} that lists a wait. */
export const listingWaitKey = (subject: string, [, wait]: Deno.KvKey) =>
  waitsOfKey(subject, String(wait));
/** A receipt: the approved or refused call. Lifetime: `OAUTH_LEDGER_DAYS`. */
export const receiptKey = plain("receipt");
/**
 * The receipts of a caller, of an approver, and of all. Lifetime: the
 * receipt's.
 */
export const receiptsOfKey = ownedBy("receipt-of");
export const listedReceiptKey = listedIn("receipt");
/**
 * A person's passkeys, in one record. Lifetime: 366 days after their last use.
 */
export const passkeysKey = hashed("passkeys");
/**
 * Set when a person's passkeys were erased: as long as it exists, a new one may
 * not approve. Lifetime: 1 day.
 */
export const passkeysGoneKey = hashed("passkeys-gone");
/**
 * Approvals that a person let apply to later calls; without a name, the record
 * that changes with each new one. Lifetime: 1 day at most.
 */
export const rememberedKey = ownedBy("remembered");
/** The wait for one question of a call or a task. Lifetime: the wait's. */
export const waitOfAskerKey = hashed("wait-of-asker");

/** A secret that all processes share. Never expires. */
export const secretKey = plain("secret");
/**
 * A used `requestState`, now refused. Lifetime: 1 h longer than the state is
 * valid.
 */
export const spentStateKey = ours("spent");
/** The number of the newest change notification. Never expires. */
export const changeHeadKey = alone("change-head");
/** One change notification. Lifetime: 5 min. */
export const changeKey = plain("change");

/** The last token request of a client in `OAUTH_CLIENTS`. Lifetime: 90 days. */
export const clientUseKey = hashed("client-use");
/** A client ID metadata document, or a client's JWKS. Lifetime: 30 days. */
export const documentKey = hashed("document");
/**
 * A used assertion (`jti`). Lifetime: 1 h longer than the assertion is valid.
 */
export const assertionKey = allHashed("assertion");
/** The scopes that a browser has approved for a client. Lifetime: 90 days. */
export function consentKey(browserFingerprint: string, what: string) {
  return ["consent", browserFingerprint, fingerprint(what)];
}
/**
 * A person's connection with a client; without an id, the prefix of all.
 * Lifetime: 366 days.
 */
export const connectionKey = allHashed("connection");
/** An authorization request, from consent page to code. Lifetime: 10 min. */
export const authorizationRequestKey = hashed("authorization-request");
/** An authorization code. Lifetime: 60 s; after its use, a day. */
export const codeKey = hashed("code");

/**
 * A grant; without an id, the prefix of all. Lifetime: 60 s, then 30 days after
 * its last refresh, 90 days in all. A machine's lives 1 h, a personal token's
 * up to a year.
 */
export const grantKey = (...id: string[]) => ["grant", ...id.map(bounded)];
/** The grants of a person. Lifetime: the grant's. */
export const grantsOfSubjectKey = ownedBy("grant-of-subject");
/**
 * Set for an erased person's grant: nothing more is stored. Lifetime: 1 day.
 */
export const erasedKey = ours("erased");
/**
 * The latest calls of a grant, or of a machine. Lifetime: `OAUTH_LEDGER_DAYS`.
 */
export const ledgerKey = hashed("ledger");
/**
 * The provider's tokens of a grant, encrypted. Lifetime: the grant's maximum.
 */
export const upstreamKey = ours("upstream");
/** An access token. Lifetime: 1 h; a personal one's, up to a year. */
export const accessTokenKey = hashed("access-token");

/** A list of people: sorted by name, or by each word that a search finds. */
export type PersonOrder = "name" | "word";

/** The position of a person in a list of people. */
export type PeopleCursor = { text: string; person: string };

const personOf = (subject: string) => fingerprint(subject).slice(0, 16);
/**
 * A person in a list of people. Lifetime: the grant's maximum and a day. A
 * person whose grants have different lifetimes has several entries.
 */
export function personKey(
  by: PersonOrder,
  text: string,
  { subject, days }: { subject: string; days: number },
) {
  return [`person-${by}`, text, personOf(subject), days];
}

/** Returns the cursor at a {@linkcode personKey}. */
export function peopleCursorOf([, text, person]: Deno.KvKey): PeopleCursor {
  return { text: String(text), person: String(person) };
}

/**
 * Returns the keys after a cursor, of names or words that start with `begins`.
 */
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

/**
 * A person's sort names and search words. Lifetime: {@linkcode personKey}'s.
 */
export function listedPersonKey(subject: string, ...mark: string[]) {
  return ["person-listed", personOf(subject), ...mark];
}
/** A browser's session at the account page. Lifetime: 1 h. */
export const accountSessionKey = hashed("account-session");
/** A person's sessions at the account page. Lifetime: the session's. */
export const accountSessionsOfKey = allHashed("account-session-of");
export const listedAccountSessionKey = listedIn("account-session");
/** Changes whenever a person makes an access token. Lifetime: 366 days. */
export const tokensOfKey = hashed("tokens-of");
/** A new personal token, encrypted, until a page shows it. Lifetime: 5 min. */
export function madeTokenKey(sessionId: string, grantId: string): Deno.KvKey {
  return ["made-token", fingerprint(sessionId), bounded(grantId)];
}
/** A person's account at a service. Lifetime: `ACCOUNT_IDLE_DAYS`. */
export const accountKey = ownedBy("account");
/**
 * A registration at another authorization server. Lifetime: 365 days after its
 * last use.
 */
export const mcpClientKey = hashed("mcp-client");
/** Tokens that wait to be revoked, sorted by time. Lifetime: 3 days. */
export const revocationKey = (...at: Deno.KvKey) => ["revocation", ...at];

/** The block of a person or client, until it is lifted. */
export const blockKey = allHashed("block");
/** Changes whenever a block is made or lifted. Never expires. */
export const blockHeadKey = alone("block-head");

/** A bucket of the shared rate limit. Lifetime: until it is full again. */
export function bucketKey(purpose: string, name: string): Deno.KvKey {
  return ["bucket", purpose, bounded(name)];
}
/**
 * A written fence: commits that check it are no longer applied. Lifetime: 1
 * day.
 */
export const fenceKey = plain("fence");
/** A commit whose request was answered with 503. Lifetime: 1 day. */
export const givenUpKey = plain("given-up");
/** A record that is written to test the database. Lifetime: 60 s. */
export const probeKey = alone("probe");
/** A key without a record, read to see if the database is back. */
export const reachabilityKey = alone("reachability");
/**
 * The last attempts to connect, in one value. Lifetime: 30 days after the last.
 */
export const attemptsKey = alone("attempts");
/** The number of the layout of all records and keys. Never expires. */
export const layoutKey = alone("layout");
/** The `BASE_URL` of the last start. Never expires. */
export const lastStartKey = alone("last-start");
/** Set in a database while records are being moved to it. */
export const movingKey = alone("moving");
