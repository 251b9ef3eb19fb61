/**
 * Texts of any length. A value holds 64 KiB, so a longer text is cut into
 * parts, written before the record that refers to them.
 *
 * @module
 */
import { randomId } from "../crypto.ts";
import { textKey } from "./keys.ts";
import { commit, expireIn, type Expiring, reach } from "./kv.ts";

/** Where a text stands: in its record, or in parts of its own. */
export type TextRef = { text: string } | { id: string; parts: number };

/** A character takes up to two bytes; a record needs some room beside it. */
const PART_CHARACTERS = 28_000;
/** A commit holds 800 KiB. */
const PARTS_PER_COMMIT = 12;

/**
 * Keeps a text until `expiresAt`; what it gives belongs into a record. A
 * record of several texts has less room for each.
 */
export async function saveText(
  kv: Deno.Kv,
  text: string,
  { expiresAt, inlineCharacters = PART_CHARACTERS }: Expiring & {
    inlineCharacters?: number;
  },
): Promise<TextRef> {
  if (text.length <= inlineCharacters) return { text };
  const id = randomId(16);
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += PART_CHARACTERS) {
    parts.push(text.slice(at, at + PART_CHARACTERS));
  }
  const options = expireIn({ expiresAt });
  for (let i = 0; i < parts.length; i += PARTS_PER_COMMIT) {
    await commit(kv, (operation) => {
      parts.slice(i, i + PARTS_PER_COMMIT).forEach((part, j) =>
        operation.set(textKey(id, i + j), part, options)
      );
      return operation;
    });
  }
  return { id, parts: parts.length };
}

/** The text behind a reference. */
export async function readText(kv: Deno.Kv, ref: TextRef): Promise<string> {
  if ("text" in ref) return ref.text;
  const parts = await Promise.all(
    keysOf(ref).map((key) => reach(() => kv.get<string>(key))),
  );
  return parts.map(({ value }) => value).join("");
}

/** Removes a text whose record never came to be. */
export async function deleteText(kv: Deno.Kv, ref: TextRef): Promise<void> {
  const keys = keysOf(ref);
  if (keys.length === 0) return;
  await commit(kv, (operation) => {
    for (const key of keys) operation.delete(key);
    return operation;
  });
}

/** The keys that a reference occupies beside its record. */
export function keysOf(ref: TextRef): Deno.KvKey[] {
  if ("text" in ref) return [];
  return Array.from({ length: ref.parts }, (_, part) => textKey(ref.id, part));
}
