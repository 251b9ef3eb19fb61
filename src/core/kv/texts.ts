/**
 * Texts of any length. A value in the database has at most 64 KiB, so a longer
 * text is stored in parts, which are written before the record that refers to
 * them.
 * @module
 */
import { randomId } from "../crypto/crypto.ts";
import type { Database, Entry, Expiring } from "./database.ts";
import { textKey } from "./keys.ts";
import { bestEffort } from "./operations.ts";

/** A reference to a text: the text itself, or the id of its parts. */
export type TextRef = { text: string } | { id: string; parts: number };

/** The maximum number of characters of a part; each takes at most two bytes. */
const MAX_PART_CHARACTERS = 28_000;
/** The maximum number of parts in a commit of 800 KiB. */
const MAX_PARTS_PER_COMMIT = 12;

interface TextRecord extends Expiring {
  text: string;
}

/**
 * Stores a text until `expiresAt`, and returns its reference. A text of at most
 * `inlineCharacters` is in the reference itself.
 */
export async function saveText(
  database: Database,
  text: string,
  { expiresAt, inlineCharacters = MAX_PART_CHARACTERS }: Expiring & {
    inlineCharacters?: number;
  },
): Promise<TextRef> {
  if (text.length <= inlineCharacters) return { text };
  const id = randomId(16);
  const parts: TextRecord[] = [];
  for (let at = 0; at < text.length; at += MAX_PART_CHARACTERS) {
    parts.push({ text: text.slice(at, at + MAX_PART_CHARACTERS), expiresAt });
  }
  for (let i = 0; i < parts.length; i += MAX_PARTS_PER_COMMIT) {
    await database.commit((transaction) =>
      parts.slice(i, i + MAX_PARTS_PER_COMMIT).forEach((part, j) =>
        transaction.set(textKey(id, i + j), part)
      )
    );
  }
  return { id, parts: parts.length };
}

/** A text that has expired, or has lost a part. */
export class TextExpiredError extends Error {
  override name = "TextExpiredError";
}

/**
 * Returns the text of a reference.
 *
 * @throws {TextExpiredError} if a part is missing
 */
export async function readText(
  database: Database,
  ref: TextRef,
): Promise<string> {
  if ("text" in ref) return ref.text;
  const parts = await database.getMany<TextRecord[]>(textKeysOf(ref));
  return parts.map(({ value }) => {
    if (value) return value.text;
    throw new TextExpiredError("A part of the text has expired");
  }).join("");
}

/** Returns the length of a text, as if its last part were full. */
export function textLengthOf(ref: TextRef): number {
  return "text" in ref ? ref.text.length : ref.parts * MAX_PART_CHARACTERS;
}

/** Returns the text of a reference; undefined if a part is missing. */
export async function findText(
  database: Database,
  ref: TextRef,
): Promise<string | undefined> {
  try {
    return await readText(database, ref);
  } catch (error) {
    if (error instanceof TextExpiredError) return undefined;
    throw error;
  }
}

/** Deletes a text that no record refers to. If that fails, the text expires. */
export async function deleteText(
  database: Database,
  ref: TextRef,
): Promise<void> {
  const keys = textKeysOf(ref);
  if (keys.length === 0) return;
  await bestEffort(() =>
    database.commit((transaction) => transaction.delete(...keys))
  );
}

/**
 * Extends the lifetime of a text's parts to `expiresAt`. Missing parts are not
 * restored.
 */
export async function renewText(
  database: Database,
  ref: TextRef,
  expiresAt: number,
): Promise<void> {
  for (const key of textKeysOf(ref)) {
    await database.change(key, (transaction, { value }: Entry<TextRecord>) => {
      if (value) transaction.set(key, { ...value, expiresAt });
    });
  }
}

/** True if two references are to the same stored parts. */
export function isSameText(one: TextRef | undefined, other: TextRef): boolean {
  return one !== undefined && "id" in one && "id" in other &&
    one.id === other.id;
}

/**
 * Lists the keys of a text's parts; none if the reference contains the text.
 */
export function textKeysOf(ref: TextRef): Deno.KvKey[] {
  if ("text" in ref) return [];
  return Array.from({ length: ref.parts }, (_, part) => textKey(ref.id, part));
}
