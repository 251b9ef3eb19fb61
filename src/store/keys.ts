/**
 * Every key in the database, what stands under it and how long: the only
 * page that spells one. A key part that came from outside is a fingerprint,
 * so no key is longer than it looks and none can be used to get in.
 *
 * @module
 */

import { fingerprint } from "../crypto.ts";

/** MCP session · 24 h after its last use. */
export function sessionKey(sessionId: string): Deno.KvKey {
  return ["session", fingerprint(sessionId)];
}

/** Sessions of a grant (or of another binding) · as long as the session. */
export function sessionsOfKey(binding: string, ...rest: string[]): Deno.KvKey {
  return ["session-of", fingerprint(binding), ...rest];
}

/** A question put to a 2025 client, then its answer · 1 h. */
export function replyKey(
  sessionId: string,
  requestId: string | number,
): Deno.KvKey {
  return ["reply", fingerprint(sessionId), named(requestId)];
}

/** A 2025 client's wish to cancel a request · 5 min. */
export function cancellationKey(
  sessionId: string,
  requestId: string | number,
): Deno.KvKey {
  return ["cancel", fingerprint(sessionId), named(requestId)];
}

/** A part of a text too long for one value · as long as what refers to it. */
export function textKey(id: string, part: number): Deno.KvKey {
  return ["text", id, part];
}

/** A task · 24 h after it was created. */
export function taskKey(taskId: string): Deno.KvKey {
  return ["task", taskId];
}

/** That somebody works on a task · 15 s, renewed every 5. */
export function taskLeaseKey(taskId: string): Deno.KvKey {
  return ["task-lease", taskId];
}

/** An answer given to a task · as long as the task. */
export function taskAnswerKey(taskId: string, key: string): Deno.KvKey {
  return ["task-answer", taskId, fingerprint(key)];
}

/** A secret that all processes share, made once · for ever. */
export function secretKey(purpose: string): Deno.KvKey {
  return ["secret", purpose];
}

/** A request state that may not be used again · as long as it is valid. */
export function spentStateKey(nonce: string): Deno.KvKey {
  return ["spent", nonce];
}

/** The number of the newest change notification · for ever. */
export function changeHeadKey(): Deno.KvKey {
  return ["change-head"];
}

/** One change notification · 5 min. */
export function changeKey(number: number): Deno.KvKey {
  return ["change", number];
}

/** `1` and `"1"` are different requests; what a client chose is hashed. */
function named(requestId: string | number): string {
  return fingerprint(JSON.stringify(requestId));
}
