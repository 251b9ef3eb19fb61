/**
 * Many copies of a few records in a file of Deno KV, each with its own names.
 * They are written without Deno KV, which would take far longer.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { DatabaseSync } from "node:sqlite";

/** The part of the file that stays in memory, in KiB. */
const CACHE_KIBIBYTES = 4 * 2 ** 20;

/** A grant's ID, or a fingerprint: the parts by which keys differ. */
const NAME = /[\w-]{43}|[\w-]{22}/g;

/** The copies that are written in the order of their keys, which is faster. */
const SORTED = 100_000;

/** A text as bytes, each character a byte, with names between its parts. */
interface Template {
  /** The texts between the names: one more than the names. */
  parts: readonly string[];
  names: readonly number[];
}

/** A record to be copied. */
interface Row {
  key: Template;
  value: Template;
  endMilliseconds: number;
}

/** Records to be copied, and the names in them. */
interface Model {
  names: readonly string[];
  rows: readonly Row[];
}

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
  /** The time by which they end later than their models. */
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
  for (let done = 0; done < copies; done += SORTED) {
    const rows: [key: string, row: Row, names: readonly string[]][] = [];
    for (let copy = done; copy < Math.min(done + SORTED, copies); copy++) {
      const from = modelOf(copy);
      const model = models.get(from) ?? readModel(from);
      models.set(from, model);
      const names = newNames(model);
      for (const row of model.rows) {
        rows.push([fill(row.key, names), row, names]);
      }
    }
    rows.sort(([one], [other]) => one < other ? -1 : 1);
    for (const [key, { value, endMilliseconds }, names] of rows) {
      const end = endMilliseconds + laterMilliseconds;
      insert.run(
        Buffer.from(key, "latin1"),
        Buffer.from(fill(value, names), "latin1"),
        end,
      );
    }
  }
  // Records end in the order in which they come: this index is appended to.
  sqlite.exec(`
    create index kv_expiration_ms_idx on kv (expiration_ms);
    commit;
    pragma journal_mode = wal;
  `);
}

/** Reads the records of a file that end; shared secrets do not. */
function readModel(path: string): Model {
  using sqlite = new DatabaseSync(path);
  const rows = sqlite.prepare(
    "select k, v, expiration_ms as end from kv where expiration_ms >= 0",
  ).all() as unknown as { k: Uint8Array; v: Uint8Array; end: number }[];
  const names = [
    ...new Set(rows.flatMap(({ k }) => textOf(k).match(NAME) ?? [])),
  ];
  return {
    names,
    rows: rows.map(({ k, v, end }) => ({
      key: templateOf(textOf(k), names),
      value: templateOf(textOf(v), names),
      endMilliseconds: end,
    })),
  };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function templateOf(text: string, names: readonly string[]): Template {
  const found = names.length > 0
    ? text.split(new RegExp(`(${names.join("|")})`))
    : [text];
  return {
    parts: found.filter((_, index) => index % 2 === 0),
    names: found.filter((_, index) => index % 2 === 1)
      .map((name) => names.indexOf(name)),
  };
}

function newNames({ names }: Model): string[] {
  const bytes = crypto.getRandomValues(Buffer.alloc(33 * names.length));
  const text = bytes.toString("base64url");
  return names.map(({ length }, index) =>
    text.slice(44 * index, 44 * index + length)
  );
}

function fill({ parts, names }: Template, own: readonly string[]): string {
  let text = parts[0];
  for (let index = 0; index < names.length; index++) {
    text += own[names[index]] + parts[index + 1];
  }
  return text;
}
