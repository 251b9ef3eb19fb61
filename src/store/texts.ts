/**
 * Texts of any length. A value holds 64 KiB, so a longer text is cut into
 * parts, written before the record that refers to them.
 *
 * @module
 */
import { randomId } from "../crypto.ts";
import type { Database, Expiring } from "./database.ts";
import { textKey } from "./keys.ts";
import { tidy } from "./persist.ts";

/** Where a text is: in its record, or in parts of its own. */
export type TextRef = { text: string } | { id: string; parts: number };

/** A character takes up to two bytes; a record needs some room besides. */
const PART_CHARACTERS = 28_000;
/** A commit holds 800 KiB. */
const PARTS_PER_COMMIT = 12;

interface TextRecord extends Expiring {
  text: string;
}

/**
 * Keeps a text until `expiresAt`; what it gives belongs into a record. A
 * record of several texts has less room for each.
 */
export async function saveText(
  database: Database,
  text: string,
  { expiresAt, inlineCharacters = PART_CHARACTERS }: Expiring & {
    inlineCharacters?: number;
  },
): Promise<TextRef> {
  if (text.length <= inlineCharacters) return { text };
  const id = randomId(16);
  const parts: TextRecord[] = [];
  for (let at = 0; at < text.length; at += PART_CHARACTERS) {
    parts.push({ text: text.slice(at, at + PART_CHARACTERS), expiresAt });
  }
  for (let i = 0; i < parts.length; i += PARTS_PER_COMMIT) {
    await database.commit((transaction) =>
      parts.slice(i, i + PARTS_PER_COMMIT).forEach((part, j) =>
        transaction.set(textKey(id, i + j), part)
      )
    );
  }
  return { id, parts: parts.length };
}

/** The text behind a reference. */
export async function readText(
  database: Database,
  ref: TextRef,
): Promise<string> {
  if ("text" in ref) return ref.text;
  const parts = await database.getMany<TextRecord[]>(keysOf(ref));
  return parts.map(({ value }) => value?.text).join("");
}

/** Removes a text that no record refers to; what fails expires. */
export async function deleteText(
  database: Database,
  ref: TextRef,
): Promise<void> {
  const keys = keysOf(ref);
  if (keys.length === 0) return;
  await tidy(() =>
    database.commit((transaction) => transaction.delete(...keys))
  );
}

/** The keys that a reference occupies besides its record. */
export function keysOf(ref: TextRef): Deno.KvKey[] {
  if ("text" in ref) return [];
  return Array.from({ length: ref.parts }, (_, part) => textKey(ref.id, part));
}
