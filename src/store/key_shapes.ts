/**
 * The shapes of keys. A part from outside is replaced by its fingerprint, so
 * keys are short, and reading them gives no access.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { RequestId } from "../mcp/wire/messages.ts";

const OWN_ID_CHARACTERS = 64;

/** Bounds an id: one longer than ours also gets a key, which never exists. */
export function bounded(id: string): string {
  return id.length <= OWN_ID_CHARACTERS ? id : fingerprint(id);
}

/** Hashes a client's request id; `1` and `"1"` are different requests. */
export function ofRequest(requestId: RequestId): string {
  return fingerprint(JSON.stringify(requestId));
}

// These take no more parts than they name, so that map() may call them.

/** Makes the key of the only record with a word. */
export const alone = (word: string) => (): Deno.KvKey => [word];
/** Makes keys of texts from outside. */
export const hashed =
  (word: string) => (text: string) => [word, fingerprint(text)];
/** Makes keys of ids of ours, which anyone may present. */
export const ours = (word: string) => (id: string) => [word, bounded(id)];
/** Makes keys of what is ours alone. */
export const plain = (word: string) => (name: string | number) => [word, name];
/** Makes the key of an owner's list, and of what is in it. */
export function ownedBy(word: string) {
  return (of: string, ...names: string[]) => [word, fingerprint(of), ...names];
}
/** Makes the key of a record from the key that lists it for its owner. */
export const listedIn =
  (word: string) => ([, , name]: Deno.KvKey) => [word, name];
