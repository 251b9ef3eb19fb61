/**
 * A request's reference in the log, and its outcome.
 *
 * @module
 */
import { randomId } from "../crypto/crypto.ts";

/** The prefix of all references of this process, followed by a counter. */
const prefix = randomId(8);
let count = 0;

export function newReference(): string {
  return `${prefix}-${(++count).toString(36)}`;
}

/**
 * Hashes a secret (FNV-1a), to find log lines with the same secret. The 32 bits
 * do not reveal an id of 128 bits.
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
  /**
   * The request was not allowed, or cannot be handled now; the server is
   * healthy.
   */
  | "refused"
  /** The client cancelled the request, or disconnected. */
  | "cancelled"
  /** The server stopped, or the permission for the request ended. */
  | "stopped"
  /**
   * The response asks a question; the client repeats the request with the
   * answer.
   */
  | "input_required";

/** True if the outcome may need an operator's attention. */
export function isFailure(outcome: Outcome): boolean {
  return outcome === "tool_error" || outcome === "internal_error" ||
    outcome === "refused" || outcome === "stopped";
}
