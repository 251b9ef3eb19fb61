/**
 * The leftovers of a release: its database, and the credentials of its clients.
 *
 * @module
 */
import { base64, fromBase64 } from "../../src/crypto/crypto.ts";

/** An open session with an open question of its server. */
export interface OpenSession {
  id: string;
  question: string;
}

/** A record as JSON; bytes are in base64. */
export interface PrintedEntry {
  key: (string | number)[];
  value: unknown;
}

/** The leftovers. Times are epoch seconds. */
export interface Leftover {
  /** The version of the release. */
  version: string;
  madeAt: number;
  clientId: string;
  /** The verifier of the code, and of the request that waits for consent. */
  verifier: string;
  state: string;
  accessToken: string;
  refreshToken: string;
  /** A refresh token that was just exchanged, and its successor. */
  exchanged: { refreshToken: string; successor: string };
  /** A code that is not redeemed yet. */
  code: string;
  session: OpenSession;
  anonymousSession: OpenSession;
  /** A 2026 call that waits for an answer, and the key of its question. */
  waiting: { requestState: string; key: string };
  /** A completed task. */
  taskId: string;
  /** The consent page that is open, and the browser's cookies. */
  consent: { url: string; text: string; cookies: [string, string][] };
  entries: PrintedEntry[];
}

/** Prints a record for a file. */
export function printEntry(
  { key, value }: Deno.KvEntry<unknown>,
): PrintedEntry {
  return {
    key: key as (string | number)[],
    value: value instanceof Uint8Array ? { bytes: base64(value) } : value,
  };
}

/** Opens the database of a release. */
export async function openLeftover(
  { entries }: Leftover,
): Promise<Deno.Kv> {
  const kv = await Deno.openKv(":memory:");
  for (const { key, value } of entries) await kv.set(key, parse(value));
  return kv;
}

function parse(value: unknown): unknown {
  const { bytes } = (value ?? {}) as { bytes?: string };
  return typeof bytes === "string" ? fromBase64(bytes) : value;
}
