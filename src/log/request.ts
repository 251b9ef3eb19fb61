/**
 * A request in the log: the reference by which an operator finds it, and its
 * outcome.
 *
 * @module
 */
import { randomId } from "../crypto/crypto.ts";

/** A prefix of this process; the number makes each reference new. */
const prefix = randomId(8);
let count = 0;

/** Makes a reference: not secret, and a hundred times cheaper than random. */
export function newReference(): string {
  return `${prefix}-${(++count).toString(36)}`;
}

/**
 * Makes a name for a secret, by which log lines can be related. Its 32 bits
 * tell nothing about the 128 of an identifier (FNV-1a).
 */
export function shortHash(secret: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < secret.length; index++) {
    hash = Math.imul(hash ^ secret.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

export type Outcome =
  | "ok"
  /** The tool reported a failure, or its arguments were wrong. */
  | "tool_error"
  | "internal_error"
  /** The request was not allowed, or not now; nothing of ours is broken. */
  | "refused"
  /** The client no longer wanted an answer. */
  | "cancelled"
  /** The server stopped, or the permission for the request ended. */
  | "stopped"
  /** Answered with a question; the client sends the request again. */
  | "input_required";

/** True if someone may have to look into it. */
export function isFailure(outcome: Outcome): boolean {
  return outcome === "tool_error" || outcome === "internal_error" ||
    outcome === "refused" || outcome === "stopped";
}
