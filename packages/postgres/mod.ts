/**
 * The database of a server in Postgres, as an alternative to Deno KV, for
 * `KV_PATH=postgres://…`; `kv` of `serve` and `createServer` also accepts it.
 *
 * @example
 * ```ts
 * import { serve } from "@tool-server/tool-server";
 * import { openPostgres } from "@tool-server/tool-server/postgres";
 *
 * const kv = await openPostgres("postgres://tools@db.example.com/tools");
 *
 * await serve({ name: "greeter", version: "1.0.0", kv });
 * ```
 *
 * @module
 */
export { openPostgres, type PostgresOptions } from "./open.ts";
export { PostgresError } from "./failure.ts";
export type { PostgresKv } from "./postgres_kv.ts";
