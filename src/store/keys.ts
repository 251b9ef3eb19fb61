/**
 * Every key in the database, what is under it and how long: the only
 * page that spells one. A key part that came from outside is a fingerprint,
 * so no key is longer than it looks and none can be used to get in.
 *
 * @module
 */

import { fingerprint } from "../crypto.ts";

const OWN_ID_CHARACTERS = 64;

/** MCP session · 30 days after its last use. */
export function sessionKey(sessionId: string): Deno.KvKey {
  return ["session", fingerprint(sessionId)];
}

/** Sessions of a person (or of another binding) · as long as the session. */
export function sessionsOfKey(binding: string, ...rest: string[]): Deno.KvKey {
  return ["session-of", fingerprint(binding), ...rest];
}

/** The session that a key of {@linkcode sessionsOfKey} lists. */
export function listedSessionKey([, , session]: Deno.KvKey): Deno.KvKey {
  return ["session", session];
}

/** That the end of a session has been told · 1 h. */
export function sessionEndKey([, session]: Deno.KvKey): Deno.KvKey {
  return ["session-end", session];
}

/** A question put to a 2025 client, then its answer · 1 h. */
export function replyKey(
  sessionId: string,
  ...requestId: (string | number)[]
): Deno.KvKey {
  return ["reply", fingerprint(sessionId), ...requestId.map(named)];
}

/** A 2025 client's wish to cancel a request · 5 min. */
export function cancellationKey(
  sessionId: string,
  requestId: string | number,
): Deno.KvKey {
  return ["cancel", fingerprint(sessionId), named(requestId)];
}

/** Changes whenever someone wishes to cancel something · for ever. */
export function cancellationHeadKey(): Deno.KvKey {
  return ["cancel-head"];
}

/** A part of a text too long for one value · as long as what refers to it. */
export function textKey(id: string, part: number): Deno.KvKey {
  return ["text", id, part];
}

/** A task · 24 h after it was created. */
export function taskKey(taskId: string): Deno.KvKey {
  return ["task", bounded(taskId)];
}

/**
 * Tasks of a person, with the grant that used each last, or a part of those of
 * a network · as the task.
 */
export function tasksOfKey(list: string, ...taskId: string[]): Deno.KvKey {
  return ["task-of", fingerprint(list), ...taskId.map(bounded)];
}

/** That someone works on a task · 30 s, renewed every 5. */
export function taskLeaseKey(taskId: string): Deno.KvKey {
  return ["task-lease", bounded(taskId)];
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

/** An id longer than any of ours has a key too, under which nothing is. */
function bounded(id: string): string {
  return id.length <= OWN_ID_CHARACTERS ? id : fingerprint(id);
}

/** `1` and `"1"` are different requests; what a client chose is hashed. */
function named(requestId: string | number): string {
  return fingerprint(JSON.stringify(requestId));
}

/** When a client that the operator set up last got a token · 90 days. */
export function clientUseKey(clientId: string): Deno.KvKey {
  return ["client-use", fingerprint(clientId)];
}

/** OAuth client whose ID does not carry its registration · for ever, once used. */
export function clientKey(clientId: string): Deno.KvKey {
  return ["client", fingerprint(clientId)];
}

/** A document or key set of a client that someone signed in with · 30 days. */
export function documentKey(url: string): Deno.KvKey {
  return ["document", fingerprint(url)];
}

/** Used client assertion (`jti`) · until the assertion expires. */
export function assertionKey(clientId: string, jti: string): Deno.KvKey {
  return ["assertion", fingerprint(clientId), fingerprint(jti)];
}

/** What this browser approved for a client and signed in for · 90 days. */
export function approvalKey(browser: string, what: string): Deno.KvKey {
  return ["approval", fingerprint(browser), fingerprint(what)];
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
 * Grant · 60 s, then 30 days after its last refresh, 90 days in all; of a
 * machine 1 h, of a token that a person made up to a year.
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

/** The latest calls of a grant, or of a machine · `OAUTH_LEDGER_DAYS`. */
export function ledgerKey(ledgerId: string): Deno.KvKey {
  return ["ledger", fingerprint(ledgerId)];
}

/** The provider's tokens of a grant, sealed · as long as the grant may live. */
export function upstreamKey(grantId: string): Deno.KvKey {
  return ["upstream", bounded(grantId)];
}

/** Access token · 1 h; one that a person made, up to a year. */
export function accessTokenKey(token: string): Deno.KvKey {
  return ["access-token", fingerprint(token)];
}

/** Refresh token · as long as its grant at the time, and 30 s once it was used. */
export function refreshTokenKey(token: string): Deno.KvKey {
  return ["refresh-token", fingerprint(token)];
}

/** What a used refresh token was exchanged for, sealed with it · 30 s. */
export function successorKey(refreshToken: string): Deno.KvKey {
  return ["successor", fingerprint(refreshToken)];
}

/** What a process took from its buckets at an endpoint · 1 min. */
export function rateKey(endpoint: string, ...processId: string[]): Deno.KvKey {
  return ["rate", endpoint, ...processId];
}

/** A person signed in to the account page · 1 h. */
export function accountSessionKey(sessionId: string): Deno.KvKey {
  return ["account-session", fingerprint(sessionId)];
}

/** An access token that a person made, sealed, until its page · 5 min. */
export function madeTokenKey(sessionId: string, grantId: string): Deno.KvKey {
  return ["made-token", fingerprint(sessionId), bounded(grantId)];
}

/** Nothing: reading it shows that the database answers. */
export function probeKey(): Deno.KvKey {
  return ["probe"];
}

/** The last attempts to connect, all in one value · 30 days after the last. */
export function attemptsKey(): Deno.KvKey {
  return ["attempts"];
}
