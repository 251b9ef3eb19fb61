/**
 * Records that a database should not hold.
 *
 * @module
 */
import { now } from "../../src/core/clock.ts";

/**
 * The time after which an expired record counts as forgotten, because
 * collection is lazy.
 */
const COLLECTED_SECONDS = 180;

/**
 * Kinds of records that must be gone once all requests and tasks have ended.
 */
const TRANSIENT = ["reply", "task-answer", "task-lease"];

/** The number of records of each kind, and the faults found. */
export interface Leftovers {
  counts: ReadonlyMap<string, number>;
  wrongs: string[];
}

/** Examines every record of an idle server. */
export async function findLeftovers(kv: Deno.Kv): Promise<Leftovers> {
  const counts = new Map<string, number>();
  const wrongs: string[] = [];
  const texts = new Set<string>();
  const wanted = new Set<string>();
  for await (const { key, value } of kv.list({ prefix: [] })) {
    const kind = String(key[0]);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (TRANSIENT.includes(kind)) wrongs.push(`${kind} was left behind`);
    if (kind === "text") texts.add(String(key[1]));
    for (const id of textsIn(value)) wanted.add(id);
    const expiresAt = (value as { expiresAt?: number } | null)?.expiresAt;
    if (expiresAt !== undefined && expiresAt < now() - COLLECTED_SECONDS) {
      wrongs.push(`${kind} lapsed ${now() - expiresAt} s ago`);
    }
  }
  for (const id of texts.difference(wanted)) {
    wrongs.push(`text ${id} belongs to no record`);
  }
  return { counts, wrongs };
}

/** Lists the ids of texts that a value refers to. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  const { id, parts } = value as { id?: string; parts?: number };
  if (typeof id === "string" && typeof parts === "number") yield id;
  for (const member of Object.values(value)) yield* textsIn(member);
}
