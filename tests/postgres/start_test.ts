/**
 * The failures of a start, each told in words that say what to do, and none
 * with a password.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openPostgres, PostgresError } from "../../packages/postgres/mod.ts";
import { failureOf } from "../../packages/postgres/failure.ts";
import { LAYOUT } from "../../packages/postgres/layout.ts";
import { NO_PORT } from "../kit/port.ts";
import { findPostgres, PASSWORD, Postgres } from "../kit/postgres.ts";
import { Process, REPOSITORY } from "../kit/process.ts";
import { postgresTest } from "./schema.ts";

/** Requires that an address is refused, with these words and without secrets. */
async function refused(
  url: string,
  words: RegExp,
  fix: RegExp,
): Promise<void> {
  const error = await openPostgres(url).then(
    async (kv) => {
      await kv[Symbol.asyncDispose]();
      assert.fail("it was opened");
    },
    (error) => error,
  );
  assert(error instanceof PostgresError, String(error));
  assert.match(error.message, words);
  assert.match(error.fix ?? "", fix);
  const shown = Deno.inspect(error) + error.message + error.fix;
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), "wrong-one"]) {
    assert(!shown.includes(secret), shown);
  }
}

/** Gives an address with some parts of another. */
function changed(
  address: string,
  parts: Partial<Record<"username" | "password" | "pathname" | "port", string>>,
  parameters: Record<string, string> = {},
): string {
  const url = Object.assign(new URL(address), parts);
  for (const [name, value] of Object.entries(parameters)) {
    url.searchParams.set(name, value);
  }
  return url.href;
}

postgresTest(
  "openPostgres() tells of a wrong password, role and database",
  async ({ url }) => {
    await refused(
      changed(url, { password: "wrong-one" }),
      /28P01 the password is wrong/,
      /PGPASSWORD/,
    );
    await refused(changed(url, { username: "nobody" }), /28P01/, /PGPASSWORD/);
    await refused(
      changed(url, { pathname: "/none" }),
      /3D000/,
      /docs\/postgres\.md/,
    );
  },
);

postgresTest(
  "openPostgres() takes PGPASSWORD, and says that there is no password",
  async ({ url }) => {
    const open = (env: Record<string, string>) => {
      const { href } = new URL(
        "../../packages/postgres/mod.ts",
        import.meta.url,
      );
      const text = `import { openPostgres } from ${JSON.stringify(href)};
      const kv = await openPostgres(${
        JSON.stringify(changed(url, { password: "" }))
      });
      await kv[Symbol.asyncDispose]();`;
      const code = `data:text/javascript,${encodeURIComponent(text)}`;
      return new Process(["run", "--quiet", "-A", code], { env });
    };
    await using opened = open({ PGPASSWORD: PASSWORD });
    assert.equal(await opened.end(), 0, opened.output);
    await using refused = open({});
    assert.equal(await refused.end(), 1);
    assert.match(
      refused.output,
      /PostgresError: postgres:\/\/\S+: it wants a password, and there is none\. Fix: Set PGPASSWORD/,
    );
  },
);

postgresTest(
  "openPostgres() tells of an address that is none",
  async ({ url }) => {
    for (
      const [address, words, fix] of [
        ["mysql://a@b/c", /no postgres:\/\/ address/, /Use postgres:/],
        ["postgres://db.example.com/tools", /lacks a user/, /Use postgres:/],
        ["postgres://a:b@c,d/e", /a list of hosts/, /one name/],
        ["postgres://a:b@c:1,d:2/e", /a list of hosts/, /one name/],
        ["postgres://a:wrong-one%@b/c", /its % is no escape/, /%25/],
        ["postgres://a%zz@b/c", /its % is no escape/, /%25/],
        ["postgres://a:b,wrong-one@c", /lacks a user, a host/, /Use postgres:/],
        [changed(url, {}, { sslmod: "x" }), /sslmod is unknown/, /sslmode/],
        [
          changed(url, {}, { sslmode: "prefer" }),
          /prefer is unknown/,
          /require/,
        ],
        [changed(url, {}, { schema: "a;b" }), /no plain name/, /letters/],
        [
          changed(url, {}, { sslrootcert: "/none.pem" }),
          /sslrootcert: .*no such file/,
          /PEM/,
        ],
      ] as const
    ) await refused(address, words, fix);
  },
);

postgresTest(
  "openPostgres() ignores parameters of other programs",
  async ({ url }) => {
    const address = changed(url, {}, {
      channel_binding: "prefer",
      pool: "true",
    });
    await using kv = await openPostgres(address);
    assert.match(kv.place, /^postgres:\/\/127\.0\.0\.1:\d+\/tools$/);
  },
);

postgresTest(
  "openPostgres() tells of a role that may not make its tables",
  async ({ url, sql, schema }) => {
    const role = `r${schema}`;
    await sql(`create role ${role} login password 'wrong-one'`);
    const address = changed(url, { username: role, password: "wrong-one" });
    const schemaFix = new RegExp(`create schema ${schema} authorization`);
    await refused(address, /the role cannot make its tables: /, schemaFix);
    await sql(`create schema ${schema}`);
    await refused(
      address,
      new RegExp(`42501 the role "${role}" lacks a right \\(permission denied`),
      /under The least rights/,
    );
  },
);

postgresTest(
  "openPostgres() needs only the verbs once the tables are there",
  async ({ url, sql, schema, open }) => {
    await open();
    const role = `r${schema}`;
    const page = await Deno.readTextFile(
      new URL("docs/postgres.md", REPOSITORY),
    );
    const [, grants] = /```sql\n(grant [^]*?)```/.exec(page)!;
    const { pathname } = new URL(url);
    await sql(
      `create role ${role} login password 'a';` +
        grants.replace(/database \w+/, `database ${pathname.slice(1)}`)
          .replaceAll("tool_server", schema)
          .replaceAll("to least", `to ${role}`),
    );
    const address = changed(url, { username: role, password: "a" });
    for (
      const right of [
        ...["select", "insert", "update", "delete"].map((it) =>
          `${it} on ${schema}.kv`
        ),
        `usage on sequence ${schema}.kv_version`,
      ]
    ) {
      await sql(`revoke ${right} from ${role}`);
      await refused(
        address,
        new RegExp(`role "${role}" lacks a right: ${right}\\. Fix`, "i"),
        /under The least rights/,
      );
      await sql(`grant ${right} to ${role}`);
    }
    await using kv = await openPostgres(address);
    assert((await kv.atomic().set(["a"], 1).commit()).ok);
    assert.equal((await kv.get(["a"])).value, 1);
    assert.equal(await kv.sweep(1), 0);
  },
);

postgresTest(
  "openPostgres() leaves a layout of a later version alone",
  async ({ url, sql, schema, open }) => {
    await open();
    const later = LAYOUT + 1;
    // An addition that this version need not know.
    await sql(`update ${schema}.kv_layout set number = ${later}`);
    await open();
    assert.equal(
      await sql(`select number from ${schema}.kv_layout`),
      `${later}`,
    );
    await sql(`update ${schema}.kv_layout set oldest = ${later}`);
    await refused(url, /its layout is \d+, for versions/, /newer version/);
  },
);

postgresTest(
  "openPostgres() of ten processes at once makes one layout",
  async ({ open, sql, schema }) => {
    await Promise.all(Array.from({ length: 10 }, () => open()));
    assert.equal(await sql(`select count(*) from ${schema}.kv_layout`), "1");
  },
);

postgresTest(
  "openPostgres() waits for a connection where there are too many",
  async ({ url, sql, schema, open }) => {
    await open();
    const role = `r${schema}`;
    await sql(`create role ${role} login password 'a' connection limit 1;
    grant usage on schema ${schema} to ${role};
    grant all on all tables in schema ${schema} to ${role};
    grant all on all sequences in schema ${schema} to ${role}`);
    const waiting: string[] = [];
    const address = changed(url, { username: role, password: "a" });
    await using kv = await openPostgres(address, {
      onWaiting: ({ message, fix }) => {
        waiting.push(`${message} ${fix}`);
        void sql(`alter role ${role} connection limit 10`);
      },
    });
    assert(kv.isRemote);
    assert.equal(waiting.length, 1);
    assert.match(
      waiting[0],
      /53300 it has too many connections.*KV_CONNECTIONS/,
    );
  },
);

postgresTest(
  "openPostgres() warns of a superuser and of a database that forgets, once",
  async ({ open }) => {
    const warnings: string[] = [];
    await open({ onWarning: (message) => warnings.push(message) });
    // The cluster of these tests runs with fsync off, and they own all of it.
    assert.equal(warnings.length, 2);
    assert.match(warnings[0], /superuser/);
    assert.match(warnings[1], /loses what was acknowledged/);
  },
);

postgresTest(
  "openPostgres() waits for a server that is starting up, and gives up after ten seconds",
  async () => {
    await using postgres = await Postgres.start(findPostgres()!);
    await postgres.kill();
    let waited = 0;
    const opening = openPostgres(postgres.url, { onWaiting: () => waited++ });
    await postgres.start({ isReady: false });
    await using _kv = await opening;
    assert.equal(waited, 1);
    const nothing = changed(postgres.url, { port: String(NO_PORT) });
    await refused(
      nothing,
      /ECONNREFUSED nothing listens there/,
      /Start Postgres/,
    );
  },
);

postgresTest("openPostgres() refuses a standby", async () => {
  await using primary = await Postgres.start(findPostgres()!);
  await primary.allowReplication();
  await using standby = await Postgres.standbyOf(primary);
  await refused(standby.url, /takes no writes \(a replica, or /, /primary/);
});

postgresTest(
  "openPostgres() checks the certificate as sslmode says",
  async () => {
    await using postgres = await Postgres.start(findPostgres()!);
    await postgres.useTls("db.example.com");
    const ca = `${postgres.folder}/ca.pem`;
    const of = (parameters: Record<string, string>) =>
      changed(postgres.url, {}, parameters);
    for (const sslmode of ["verify-full", "verify-ca"]) {
      await refused(
        of({ sslmode }),
        /certificate is of an unknown CA/,
        /sslrootcert/,
      );
    }
    await refused(
      of({ sslmode: "verify-full", sslrootcert: ca }),
      /certificate is another host's/,
      /name/,
    );
    for (
      const parameters of [
        { sslmode: "require" },
        { sslmode: "require", sslrootcert: ca },
        { sslmode: "verify-ca", sslrootcert: ca },
      ]
    ) {
      await using kv = await openPostgres(of(parameters as never));
      const ssl = await postgres.sql(
        "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) " +
          "where application_name = 'tool-server'",
      );
      assert.equal(ssl, "t");
      assert(kv.isRemote);
    }
  },
);

postgresTest(
  "openPostgres() tells of a server without TLS",
  async ({ url }) => {
    await refused(
      changed(url, {}, { sslmode: "require" }),
      /speaks no TLS/,
      /disable/,
    );
  },
);

Deno.test("failureOf() takes a connection that was lost for a moment's trouble", () => {
  for (
    const message of [
      "Connection terminated unexpectedly",
      "Client has encountered a connection error and is not queryable",
    ]
  ) {
    const error = failureOf(new Error(message), "postgres://db/tools");
    assert(error instanceof PostgresError && error.isTransient, message);
  }
});

Deno.test("failureOf() tells of a full disk", () => {
  const error = failureOf(
    Object.assign(new Error("could not extend file"), { code: "53100" }),
    "postgres://db/tools",
  );
  assert(error instanceof PostgresError);
  assert.match(
    error.message,
    /^postgres:\/\/db\/tools: 53100 its disk is full/,
  );
  assert.match(error.fix!, /room/);
});
