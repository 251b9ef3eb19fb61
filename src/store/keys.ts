/**
 * Every key in the database, the record under it, and its lifetime: the only
 * file that spells keys. A key part from outside is replaced by its
 * fingerprint, so keys are short, and reading them gives no access. Only the
 * names of people and networks stay as they are.
 *
 * @module
 */

import { fingerprint } from "../crypto/crypto.ts";

const OWN_ID_CHARACTERS = 64;

/** MCP session · 30 days after its last use. */
export function sessionKey(sessionId: string): Deno.KvKey {
  return ["session", fingerprint(sessionId)];
}

/** Sessions of a person (or of another binding) · as long as the session. */
export function sessionsOfKey(binding: string, ...rest: string[]): Deno.KvKey {
  return ["session-of", fingerprint(binding), ...rest];
}

/** The sessions of a binding after one of them, or all of them. */
export function sessionsOfRange(binding: string, after = ""): {
  start: Deno.KvKey;
  end: Deno.KvKey;
} {
  const list = sessionsOfKey(binding);
  return { start: [...list, `${after}\0`], end: [...list, LAST] };
}

/**
 * Gives the key of the session that a key of {@linkcode sessionsOfKey} lists.
 */
export function listedSessionKey([, , session]: Deno.KvKey): Deno.KvKey {
  return ["session", session];
}

/** A question to a 2025 client, then its answer · 1 h. */
export function replyKey(
  sessionId: string,
  ...requestId: (string | number)[]
): Deno.KvKey {
  return ["reply", fingerprint(sessionId), ...requestId.map(named)];
}

/** A 2025 client's cancellation of a request · 5 min. */
export function cancellationKey(
  sessionId: string,
  requestId: string | number,
): Deno.KvKey {
  return ["cancel", fingerprint(sessionId), named(requestId)];
}

/** A head that changes with every cancellation · for ever. */
export function cancellationHeadKey(): Deno.KvKey {
  return ["cancel-head"];
}

/**
 * A part of a text too long for one value · as long as the record that refers
 * to it.
 */
export function textKey(id: string, part: number): Deno.KvKey {
  return ["text", id, part];
}

/** A task · 24 h after it was created. */
export function taskKey(taskId: string): Deno.KvKey {
  return ["task", bounded(taskId)];
}

/**
 * A list of a person's tasks, each with the grant that used it last, or a part
 * of the tasks of a caller that may be many people · as the task.
 */
export function tasksOfKey(list: string, ...taskId: string[]): Deno.KvKey {
  return ["task-of", fingerprint(list), ...taskId.map(bounded)];
}

/** Mark that a process works on a task · 30 s, renewed every 5. */
export function taskLeaseKey(taskId: string): Deno.KvKey {
  return ["task-lease", bounded(taskId)];
}

/**
 * The run of durable work: what it began with, and whose turn it is · until the
 * end of the task.
 */
export function taskRunKey(taskId: string): Deno.KvKey {
  return ["task-run", bounded(taskId)];
}

/** A step of durable work · as long as the task. */
export function taskStepKey(taskId: string, ...id: string[]): Deno.KvKey {
  return ["task-step", bounded(taskId), ...id.map(fingerprint)];
}

/** The time at which durable work is looked at · as long as the task. */
export function wakeKey(dueSeconds: number, taskId: string): Deno.KvKey {
  return ["wake", dueSeconds, bounded(taskId)];
}

/** The wakes that are due, the oldest first. */
export function dueWakesRange(nowSeconds: number): {
  start: Deno.KvKey;
  end: Deno.KvKey;
} {
  return { start: ["wake", 0], end: ["wake", nowSeconds + 1] };
}

/** The parts that {@linkcode wakeKey} made a key of. */
export function partsOfWake([, dueSeconds, taskId]: Deno.KvKey): {
  dueSeconds: number;
  taskId: string;
} {
  return { dueSeconds: dueSeconds as number, taskId: taskId as string };
}

/** An answer given to a task · as long as the task. */
export function taskAnswerKey(taskId: string, key: string): Deno.KvKey {
  return ["task-answer", bounded(taskId), fingerprint(key)];
}

/** A secret that all processes share, made once · for ever. */
export function secretKey(purpose: string): Deno.KvKey {
  return ["secret", purpose];
}

/** A request state that may not be used again · as long as it is valid. */
export function spentStateKey(nonce: string): Deno.KvKey {
  return ["spent", bounded(nonce)];
}

/** The number of the newest change notification · for ever. */
export function changeHeadKey(): Deno.KvKey {
  return ["change-head"];
}

/** One change notification · 5 min. */
export function changeKey(number: number): Deno.KvKey {
  return ["change", number];
}

/** Bounds an id: one longer than ours also gets a key, which never exists. */
function bounded(id: string): string {
  return id.length <= OWN_ID_CHARACTERS ? id : fingerprint(id);
}

/** Hashes a client's request id; `1` and `"1"` are different requests. */
function named(requestId: string | number): string {
  return fingerprint(JSON.stringify(requestId));
}

/** The last time a client that the operator set up got a token · 90 days. */
export function clientUseKey(clientId: string): Deno.KvKey {
  return ["client-use", fingerprint(clientId)];
}

/** A document or key set of a client that someone signed in with · 30 days. */
export function documentKey(url: string): Deno.KvKey {
  return ["document", fingerprint(url)];
}

/** Used assertion (`jti`) · until the assertion expires. */
export function assertionKey(issuer: string, jti: string): Deno.KvKey {
  return ["assertion", fingerprint(issuer), fingerprint(jti)];
}

/** The approval of a client in this browser, after a sign-in · 90 days. */
export function approvalKey(
  browserFingerprint: string,
  what: string,
): Deno.KvKey {
  return ["approval", browserFingerprint, fingerprint(what)];
}

/** The state of a person's connection with a client, or of all · 366 days. */
export function connectionKey(
  subject: string,
  ...clientId: string[]
): Deno.KvKey {
  return ["connection", fingerprint(subject), ...clientId.map(fingerprint)];
}

/** Authorization request, from the consent page to the code · 10 min. */
export function authorizationRequestKey(handle: string): Deno.KvKey {
  return ["authorization-request", fingerprint(handle)];
}

/** Authorization code · 60 s, and a day once it was used. */
export function codeKey(code: string): Deno.KvKey {
  return ["code", fingerprint(code)];
}

/**
 * Grant · 60 s, then 30 days after its last refresh, 90 days in all; for a
 * machine 1 h, for a token that a person made up to a year.
 */
export function grantKey(...grantId: string[]): Deno.KvKey {
  return ["grant", ...grantId.map(bounded)];
}

/** Grants of a person · as long as the grant. */
export function grantsOfSubjectKey(
  subject: string,
  ...grantId: string[]
): Deno.KvKey {
  return ["grant-of-subject", fingerprint(subject), ...grantId];
}

/** The characters of a person's fingerprint in a key. */
const PERSON_CHARACTERS = 16;

/**
 * A person who has a grant, listed by their name, or by a word that finds them ·
 * a day longer than the grant may live.
 *
 * @param days the lifetime of the grant: grants of each lifetime have a row of
 * their own, so that a short one never replaces the row of a long one
 */
export function personKey(
  { by, text, subject, days }: {
    by: PersonOrder;
    text: string;
    subject: string;
    days: number;
  },
): Deno.KvKey {
  const person = fingerprint(subject).slice(0, PERSON_CHARACTERS);
  return [`person-${by}`, text, person, days];
}

/**
 * The texts by which a person is in the lists, by their mark, or all of them ·
 * as long as the person is listed.
 */
export function listedPersonKey(
  subject: string,
  ...listing: string[]
): Deno.KvKey {
  const person = fingerprint(subject).slice(0, PERSON_CHARACTERS);
  return ["person-listed", person, ...listing];
}

/**
 * The list of people by name, where each is once, or that by word, where each
 * is once for every word.
 */
export type PersonOrder = "name" | "word";

/** The place of a person in a list of people. */
export interface PersonPlace {
  text: string;
  person: string;
}

/** The place where {@linkcode personKey} puts a person. */
export function personPlaceOf([, text, person]: Deno.KvKey): PersonPlace {
  return { text: text as string, person: person as string };
}

/** The last character of Unicode, which ends a range of keys. */
const LAST = "\u{10ffff}";

/** The people whose text begins with `begins`, after a place. */
export function peopleRange(
  by: PersonOrder,
  { begins, after }: { begins: string; after?: PersonPlace },
): { start: Deno.KvKey; end: Deno.KvKey } {
  const kind = `person-${by}`;
  return {
    start: after ? [kind, after.text, after.person, Infinity] : [kind, begins],
    end: [kind, begins + LAST],
  };
}

/** The progress in listing the people of version 0.2 · for ever. */
export function peopleGatheredKey(): Deno.KvKey {
  return ["people-gathered"];
}

/** The grants of a person after one of them. */
export function grantsOfSubjectRange(subject: string, after: string): {
  start: Deno.KvKey;
  end: Deno.KvKey;
} {
  const list = grantsOfSubjectKey(subject);
  return { start: [...list, `${after}\0`], end: [...list, LAST] };
}

/** The grants after one of them, or all of them. */
export function grantsRange(after = ""): {
  start: Deno.KvKey;
  end: Deno.KvKey;
} {
  return { start: ["grant", `${after}\0`], end: ["grant", LAST] };
}

/** A grant whose person was erased: nothing more is kept for it · 1 day. */
export function erasedKey(grantId: string): Deno.KvKey {
  return ["erased", bounded(grantId)];
}

/** The latest calls of a grant, or of a machine · `OAUTH_LEDGER_DAYS`. */
export function ledgerKey(ledgerId: string): Deno.KvKey {
  return ["ledger", fingerprint(ledgerId)];
}

/** The provider's tokens of a grant, sealed · as long as the grant may live. */
export function upstreamKey(grantId: string): Deno.KvKey {
  return ["upstream", bounded(grantId)];
}

/** Access token · 1 h; for one that a person made, up to a year. */
export function accessTokenKey(token: string): Deno.KvKey {
  return ["access-token", fingerprint(token)];
}

/** Refresh token · as long as its grant at the time; used, until its successor is. */
export function refreshTokenKey(token: string): Deno.KvKey {
  return ["refresh-token", fingerprint(token)];
}

/** The successors of a used refresh token, sealed with it · until they are used. */
export function successorKey(refreshToken: string): Deno.KvKey {
  return ["successor", fingerprint(refreshToken)];
}

/**
 * A token bucket of the rate limit, shared by all processes · until it is full
 * again.
 */
export function bucketKey(purpose: string, name: string): Deno.KvKey {
  return ["bucket", purpose, bounded(name)];
}

/** The session of a person at the account page · 1 h. */
export function accountSessionKey(sessionId: string): Deno.KvKey {
  return ["account-session", fingerprint(sessionId)];
}

/** Account sessions of a person · as long as the session. */
export function accountSessionsOfKey(
  subject: string,
  ...sessionId: string[]
): Deno.KvKey {
  const sessions = sessionId.map(fingerprint);
  return ["account-session-of", fingerprint(subject), ...sessions];
}

/** The account session that a key of {@linkcode accountSessionsOfKey} lists. */
export function listedAccountSessionKey([, , session]: Deno.KvKey): Deno.KvKey {
  return ["account-session", session];
}

/** Changes whenever a person makes an access token · 366 days. */
export function tokensOfKey(subject: string): Deno.KvKey {
  return ["tokens-of", fingerprint(subject)];
}

/** An access token that a person made, sealed, for its page · 5 min. */
export function madeTokenKey(sessionId: string, grantId: string): Deno.KvKey {
  return ["made-token", fingerprint(sessionId), bounded(grantId)];
}

/** A wait for a person, or for a moment · 1 h, or as long as asked. */
export function waitKey(id: string): Deno.KvKey {
  return ["wait", fingerprint(id)];
}

/** Waits of a person · as long as the wait. */
export function waitsOfKey(subject: string, ...wait: string[]): Deno.KvKey {
  return ["wait-of", fingerprint(subject), ...wait];
}

/** The key of {@linkcode waitsOfKey} that lists a wait. */
export function listingWaitKey(
  subject: string,
  [, wait]: Deno.KvKey,
): Deno.KvKey {
  return waitsOfKey(subject, wait as string);
}

/** The wait that a key of {@linkcode waitsOfKey} lists. */
export function listedWaitKey([, , wait]: Deno.KvKey): Deno.KvKey {
  return ["wait", wait];
}

/** The wait of one place in one call, or in one task · as long as the wait. */
export function waitAtKey(place: string): Deno.KvKey {
  return ["wait-at", fingerprint(place)];
}

/** A closed fence: no commit that rests on it is applied any more · 1 day. */
export function fenceKey(fence: string): Deno.KvKey {
  return ["fence", fence];
}

/** A mark of a commit whose request was answered with 503 · 1 day. */
export function givenUpKey(mark: string): Deno.KvKey {
  return ["given-up", mark];
}

/** The key whose reading or writing shows that the database answers · 60 s. */
export function probeKey(): Deno.KvKey {
  return ["probe"];
}

/** The key whose reading shows that the database is back; nothing is there. */
export function lookKey(): Deno.KvKey {
  return ["look"];
}

/** The last attempts to connect, all in one value · 30 days after the last. */
export function attemptsKey(): Deno.KvKey {
  return ["attempts"];
}

/** The steps that fail, all in one value · 7 days after the last. */
export function stepFailuresKey(): Deno.KvKey {
  return ["step-failures"];
}

/** The block of a person or a client · until it is lifted. */
export function blockKey(...name: string[]): Deno.KvKey {
  return ["block", ...name.map(fingerprint)];
}

/** A head that changes with every block and its end · for ever. */
export function blockHeadKey(): Deno.KvKey {
  return ["block-head"];
}

/** The `BASE_URL` of the last start · for ever. */
export function lastStartKey(): Deno.KvKey {
  return ["last-start"];
}
