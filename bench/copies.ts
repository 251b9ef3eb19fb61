/**
 * Many copies of a few records in a file of Deno KV, each under names of its
 * own. They are written without Deno KV, which takes some fifty times as long,
 * in any order of keys, as they come in practice.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { randomId } from "../src/crypto.ts";

/** So much of the file stays in memory, in KiB. */
const CACHE_KIBIBYTES = 4 * 2 ** 20;

/** A grant's ID, or a fingerprint: what keys are told apart by. */
const NAME = /[\w-]{43}|[\w-]{22}/g;

/** Bytes in which names have places. */
interface Template {
  bytes: Uint8Array;
  places: { at: number; name: number }[];
}

/** Records to be copied, and the names in them. */
interface Model {
  names: readonly string[];
  rows: { key: Template; value: Template; endMilliseconds: number }[];
}

const encoder = new TextEncoder();
const latin1 = new TextDecoder("latin1");

/**
 * Fills a file that has none of the records.
 *
 * @param modelOf the file whose records a copy has
 */
export function copyRecords(path: string, copies: number, {
  modelOf,
  laterMilliseconds,
}: {
  modelOf(copy: number): string;
  /** How much later than their models they end. */
  laterMilliseconds: number;
}): void {
  using sqlite = new DatabaseSync(path);
  sqlite.exec(`
    pragma journal_mode = delete;
    pragma journal_mode = off;
    pragma synchronous = off;
    pragma cache_size = -${CACHE_KIBIBYTES};
    begin;
    drop index kv_expiration_ms_idx;
  `);
  const { version } = sqlite.prepare("select version from data_version").get()!;
  const insert = sqlite.prepare(
    "insert into kv (k, v, v_encoding, version, seq, expiration_ms) " +
      `values (?, ?, 1, ${version}, 0, ?)`,
  );
  const models = new Map<string, Model>();
  for (let copy = 0; copy < copies; copy++) {
    const from = modelOf(copy);
    const model = models.get(from) ?? readModel(from);
    models.set(from, model);
    const names = model.names.map(({ length }) =>
      encoder.encode(randomId().slice(0, length))
    );
    for (const { key, value, endMilliseconds } of model.rows) {
      const end = endMilliseconds + laterMilliseconds;
      insert.run(fill(key, names), fill(value, names), end);
    }
  }
  // Records end in the order in which they come: this index is appended to.
  sqlite.exec(`
    create index kv_expiration_ms_idx on kv (expiration_ms);
    commit;
    pragma journal_mode = wal;
  `);
}

/** What ends in a file; shared secrets do not. */
function readModel(path: string): Model {
  using sqlite = new DatabaseSync(path);
  const rows = sqlite.prepare(
    "select k, v, expiration_ms as end from kv where expiration_ms >= 0",
  ).all() as unknown as { k: Uint8Array; v: Uint8Array; end: number }[];
  const names = [
    ...new Set(rows.flatMap(({ k }) => latin1.decode(k).match(NAME) ?? [])),
  ];
  return {
    names,
    rows: rows.map(({ k, v, end }) => ({
      key: templateOf(k, names),
      value: templateOf(v, names),
      endMilliseconds: end,
    })),
  };
}

function templateOf(bytes: Uint8Array, names: readonly string[]): Template {
  const text = latin1.decode(bytes);
  const places = names.flatMap((name, index) =>
    [...text.matchAll(new RegExp(name, "g"))].map((match) => ({
      at: match.index,
      name: index,
    }))
  );
  return { bytes, places };
}

function fill({ bytes, places }: Template, names: readonly Uint8Array[]) {
  const filled = bytes.slice();
  for (const { at, name } of places) filled.set(names[name], at);
  return filled;
}
