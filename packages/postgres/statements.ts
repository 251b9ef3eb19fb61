/**
 * The statements that a process sends.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { binaryArray } from "./binary_array.ts";
import type { Statement } from "./driver.ts";
import { channelOf, identityOf, PRESENCE_LOCK } from "./layout.ts";

export type Statements = ReturnType<typeof statementsOn>;

/** Makes the statements for the tables of one schema. */
export function statementsOn(schema: string) {
  const identity = `${identityOf(schema)} as identity`;
  const prepared =
    <V extends unknown[]>(name: string, text: string) =>
    (...values: V): Statement => ({ name, text, values });
  // Looks up each key by itself, whatever statistics the planner has.
  const getMany = prepared<[keys: Buffer]>(
    "kv_get_many",
    `select found.value, found.version
from unnest($1::bytea[]) with ordinality as asked (key, place)
left join lateral (
  select value, version from ${schema}.kv where kv.key = asked.key offset 0
) as found on true order by asked.place`,
  );
  return {
    get: prepared<[key: Buffer]>(
      "kv_get",
      `select value, version from ${schema}.kv where key = $1`,
    ),
    getMany: (keys: Buffer[]) => getMany(binaryArray("bytea", keys)),
    list: prepared<[start: Buffer, end: Buffer, limit: number]>(
      "kv_list",
      `select key, value, version from ${schema}.kv
where key >= $1 and key < $2 order by key limit $3`,
    ),
    /**
     * Makes the statement of a commit. The commit fails if `tables` is no
     * longer the first part of the identity.
     */
    commit: prepared<[...values: Buffer[], tables: string]>(
      "kv_commit",
      `select ${schema}.kv_commit(
$1, $2, $3, $4, $5, $6, $7, $8, $9) as version`,
    ),
    sweep: prepared<[most: number]>(
      "kv_sweep",
      `select ${schema}.kv_sweep($1) as deleted, ${identity}`,
    ),
    identity: prepared<[]>("kv_identity", `select ${identity}`),
    announce: prepared<[payload: string]>(
      "kv_announce",
      `select pg_notify('${channelOf(schema)}', $1), ${identity}`,
    ),
    users: prepared<[]>(
      "kv_users",
      `select count(*)::int as count from pg_locks
where locktype = 'advisory' and objsubid = 2 and objid = ${PRESENCE_LOCK}
  and classid = '${schema}.kv'::regclass::oid and database = (
    select oid from pg_database where datname = current_database())`,
    ),
  };
}
