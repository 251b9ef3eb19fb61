/**
 * The role and the database that `deploy/postgres.sql` makes.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openPostgres } from "../../packages/postgres/mod.ts";
import { findPostgres, PASSWORD, Postgres, ROLE } from "../kit/postgres.ts";
import { REPOSITORY } from "../kit/process.ts";
import { postgresTest } from "./schema.ts";

for (
  const [who, rights] of [
    ["a superuser", "superuser"],
    ["a role that may make roles and databases", "createrole createdb"],
  ]
) {
  postgresTest(
    `deploy/postgres.sql, run by ${who}, makes a role that owns its schema and nothing else`,
    async () => {
      await using postgres = await Postgres.start(findPostgres()!);
      await postgres.sql(
        `create role admin login ${rights} password '${PASSWORD}'`,
      );
      const urlOf = (username: string, database: string) =>
        Object.assign(new URL(postgres.urlOf(database)), { username }).href;
      const text = await Deno.readTextFile(
        new URL("deploy/postgres.sql", REPOSITORY),
      );
      const file = `${postgres.folder}/postgres.sql`;
      await Deno.writeTextFile(file, text);
      await postgres.run("psql", [
        ...["--quiet", "--dbname", urlOf("admin", "postgres")],
        ...["--file", file, "--set", `password=${PASSWORD}`],
      ]);
      const warnings: string[] = [];
      await using kv = await openPostgres(
        urlOf("tool_server", "tool_server"),
        { onWarning: (message) => warnings.push(message) },
      );
      assert.deepEqual(warnings, []);
      assert((await kv.atomic().set(["a"], 1).commit()).ok);
      const facts = (sql: string) => postgres.sql(sql, "tool_server");
      assert.equal(
        await facts(`select nspname from pg_namespace
          where nspowner = 'tool_server'::regrole`),
        "tool_server",
      );
      assert.equal(
        await facts(`select rolsuper or rolcreaterole or rolcreatedb
          from pg_roles where rolname = 'tool_server'`),
        "f",
      );
      const reaches = (database: string) =>
        facts(`select has_schema_privilege('tool_server', 'public', 'create')
          or has_database_privilege('tool_server', '${database}', 'create')`);
      assert.equal(await reaches("tool_server"), "f");
      assert.equal(await reaches(ROLE), "f");
      // The role that made it keeps no way into it by membership.
      assert.equal(
        await facts(`select count(*) from pg_auth_members
          where roleid = 'tool_server'::regrole`),
        "0",
      );
    },
  );
}
