/**
 * What a release leaves behind: its database, and what its clients hold.
 *
 * @module
 */
import { base64, fromBase64 } from "../../src/crypto.ts";

/** An open session and a question of its server's. */
export interface OpenSession {
  id: string;
  question: string;
}

/** A record as JSON; bytes are in base64. */
export interface PrintedEntry {
  key: (string | number)[];
  value: unknown;
}

/** Times are epoch seconds. */
export interface Leftover {
  /** Of the release. */
  version: string;
  madeAt: number;
  clientId: string;
  /** Of the code, and of the request that waits for consent. */
  verifier: string;
  state: string;
  accessToken: string;
  refreshToken: string;
  /** A refresh token that was exchanged a moment ago, and for what. */
  exchanged: { refreshToken: string; successor: string };
  /** Not redeemed yet. */
  code: string;
  session: OpenSession;
  anonymousSession: OpenSession;
  /** A 2026 call that waits for an answer, and the name of its question. */
  waiting: { requestState: string; key: string };
  /** Completed. */
  taskId: string;
  /** The page that waits for an answer, and the browser's cookies. */
  consent: { url: string; text: string; cookies: [string, string][] };
  entries: PrintedEntry[];
}

/** A record for a file. */
export function printEntry(
  { key, value }: Deno.KvEntry<unknown>,
): PrintedEntry {
  return {
    key: key as (string | number)[],
    value: value instanceof Uint8Array ? { bytes: base64(value) } : value,
  };
}

/** The database of a release. */
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
