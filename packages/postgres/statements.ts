/**
 * The statements that a process sends.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { binaryArray } from "./binary_array.ts";
import type { Statement } from "./driver.ts";
import { channelOf, identityOf, PRESENCE } from "./layout.ts";

/** The statements on the tables of one schema. */
export class Statements {
  readonly #get: string;
  readonly #getMany: string;
  readonly #list: string;
  readonly #commit: string;
  readonly #sweep: string;
  readonly #users: string;
  readonly #identity: string;
  readonly #announce: string;

  constructor(schema: string) {
    const identity = `${identityOf(schema)} as identity`;
    this.#get = `select value, version from ${schema}.kv where key = $1`;
    // Each key is looked up by itself, whatever the planner knows of the table.
    this.#getMany = `select found.value, found.version
from unnest($1::bytea[]) with ordinality as asked (key, place)
left join lateral (
  select value, version from ${schema}.kv where kv.key = asked.key offset 0
) as found on true order by asked.place`;
    this.#list = `select key, value, version from ${schema}.kv
where key >= $1 and key < $2 order by key limit $3`;
    this.#commit = `select ${schema}.kv_commit(
$1, $2, $3, $4, $5, $6, $7, $8, $9) as version`;
    this.#sweep = `select ${schema}.kv_sweep($1) as deleted, ${identity}`;
    this.#identity = `select ${identity}`;
    this.#announce = `select pg_notify('${
      channelOf(schema)
    }', $1), ${identity}`;
    this.#users = `select count(*)::int as count from pg_locks
where locktype = 'advisory' and objsubid = 2 and objid = ${PRESENCE}
  and classid = '${schema}.kv'::regclass::oid and database = (
    select oid from pg_database where datname = current_database())`;
  }

  get(key: Buffer): Statement {
    return { name: "kv_get", text: this.#get, values: [key] };
  }

  getMany(keys: Buffer[]): Statement {
    return {
      name: "kv_get_many",
      text: this.#getMany,
      values: [binaryArray("bytea", keys)],
    };
  }

  list(start: Buffer, end: Buffer, limit: number): Statement {
    const values = [start, end, limit];
    return { name: "kv_list", text: this.#list, values };
  }

  /** @param tables the first part of the identity */
  commit(values: readonly Buffer[], tables: string): Statement {
    const all = [...values, tables];
    return { name: "kv_commit", text: this.#commit, values: all };
  }

  sweep(most: number): Statement {
    return { name: "kv_sweep", text: this.#sweep, values: [most] };
  }

  identity(): Statement {
    return { name: "kv_identity", text: this.#identity, values: [] };
  }

  announce(payload: string): Statement {
    return { name: "kv_announce", text: this.#announce, values: [payload] };
  }

  users(): Statement {
    return { name: "kv_users", text: this.#users, values: [] };
  }
}
