/**
 * The leftovers of a release: its database, and the credentials of its clients.
 *
 * @module
 */
import { canonicalJson } from "../../src/json.ts";
import {
  base64,
  fingerprint,
  fingerprintOfLong,
  fromBase64,
} from "../../src/crypto/crypto.ts";
import { seal, unseal } from "../../src/crypto/seal.ts";

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
export async function openLeftover({ entries }: Leftover): Promise<Deno.Kv> {
  const kv = await Deno.openKv(":memory:");
  for (const { key, value } of entries) await kv.set(key, parse(value));
  return kv;
}

/** The person of the leftovers, as the release wrote them. */
const SUBJECT = "github:42";

/**
 * Gives the leftovers of a person with another subject: what the release would
 * have written, had they signed in elsewhere.
 */
export async function leftoverOf(
  left: Leftover,
  subject: string,
): Promise<Leftover> {
  const place = ["http://127.0.0.1:3000", "http://127.0.0.1:3000/mcp"];
  const renamed = new Map([SUBJECT, JSON.stringify([...place, SUBJECT])].map(
    (name) => [name, name.replace(SUBJECT, subject)],
  ));
  const printed = new Map(
    [...renamed].map(([one, other]) => [fingerprint(one), fingerprint(other)]),
  );
  const rename = (value: unknown) =>
    typeof value === "string" ? renamed.get(value) ?? value : value;
  const entries = left.entries.map(({ key, value }) => ({
    key: key.map((part) => printed.get(String(part)) ?? part),
    value: JSON.parse(JSON.stringify(value), (_, member) => rename(member)),
  }));

  const secret = entries.find(({ key }) => key[1] === "request-state")!;
  const key = parse(secret.value) as Uint8Array<ArrayBuffer>;
  const state = JSON.parse(await unseal(key, left.waiting.requestState));
  const boundTo = (caller: string) =>
    fingerprintOfLong(canonicalJson([
      caller,
      "tools/call",
      { name: "confirm", arguments: {} },
    ]));
  const [, [before, after]] = [...renamed];
  if (state.boundTo !== await boundTo(before)) {
    throw new Error("The request state is bound to something else");
  }
  const requestState = await seal(
    key,
    JSON.stringify({ ...state, boundTo: await boundTo(after) }),
  );
  return { ...left, waiting: { ...left.waiting, requestState }, entries };
}

function parse(value: unknown): unknown {
  const { bytes } = (value ?? {}) as { bytes?: string };
  return typeof bytes === "string" ? fromBase64(bytes) : value;
}
