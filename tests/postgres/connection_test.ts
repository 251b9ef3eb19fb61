/**
 * Connections to Postgres: signing in, turns, and what ends them.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openPostgres } from "../../packages/postgres/mod.ts";
import { findPostgres, Postgres } from "../kit/postgres.ts";
import { until } from "../kit/wait.ts";
import { postgresTest } from "./schema.ts";

const encoder = new TextEncoder();

/** A message of a server. */
function message(type: string, ...body: (string | number[])[]): Uint8Array {
  const bytes = body.flatMap((part) =>
    typeof part === "string" ? [...encoder.encode(part)] : part
  );
  const length = bytes.length + 4;
  return Uint8Array.from([
    ...[type.charCodeAt(0), 0, 0, length >> 8, length & 255],
    ...bytes,
  ]);
}

/** Serves one who connects: each answer follows a message of the client. */
async function serving(
  answers: ((said: string) => Uint8Array)[],
  use: (port: number) => Promise<void>,
): Promise<string[]> {
  using listener = Deno.listen({ hostname: "0.0.0.0", port: 0 });
  const heard: string[] = [];
  const served = (async () => {
    using connection = await listener.accept();
    const bytes = new Uint8Array(4096);
    for (const answer of answers) {
      const length = await connection.read(bytes);
      if (length === null) return;
      const said = new TextDecoder().decode(bytes.subarray(0, length));
      heard.push(said);
      await connection.write(answer(said));
    }
    await connection.read(bytes);
  })();
  await use(listener.addr.port);
  await served;
  return heard;
}

const SASL = () => message("R", [0, 0, 0, 10], "SCRAM-SHA-256\0\0");
const CHALLENGE = (said: string) => {
  const nonce = /r=(.*)$/.exec(said)![1];
  return message("R", [0, 0, 0, 11], `r=${nonce}more,s=c2FsdA==,i=4096`);
};
const OK = () => message("R", [0, 0, 0, 0]);

for (
  const [what, answers, words] of [
    [
      "does not know the password",
      [
        SASL,
        CHALLENGE,
        () => message("R", [0, 0, 0, 12], "v=AAAA"),
      ],
      /did not prove that it knows the password/,
    ],
    [
      "does not prove that it knows the password",
      [SASL, CHALLENGE, OK],
      /did not prove that it knows the password/,
    ],
    [
      "answers with another's nonce",
      [
        SASL,
        () => message("R", [0, 0, 0, 11], "r=another,s=c2FsdA==,i=4096"),
      ],
      /SCRAM message is malformed/,
    ],
    [
      "wants the key to be derived without end",
      [
        SASL,
        (said: string) => {
          const nonce = /r=(.*)$/.exec(said)![1];
          return message("R", [0, 0, 0, 11], `r=${nonce}a,s=YQ==,i=2000000000`);
        },
      ],
      /SCRAM message is malformed/,
    ],
    [
      "wants an unknown way to sign in",
      [() => message("R", [0, 0, 0, 7])],
      /unknown here\. Fix: .*scram-sha-256/,
    ],
    [
      "wants the password unencrypted from elsewhere",
      [() => message("R", [0, 0, 0, 3])],
      /wants the password unencrypted\. Fix: .*sslmode/,
    ],
    [
      "is no Postgres",
      [() => encoder.encode("HTTP/1.1 400 Bad Request\r\n\r\n")],
      /does not speak Postgres's protocol\. Fix: Look at the host/,
    ],
  ] as const
) {
  Deno.test(`openPostgres() refuses a server that ${what}`, async () => {
    const heard = await serving([...answers], async (port) => {
      // Another name of this machine, which is not known as such.
      const url = `postgres://a:a-secret@127.0.0.2:${port}/a?sslmode=disable`;
      await assert.rejects(openPostgres(url), words);
    });
    assert(!heard.join("").includes("a-secret"));
  });
}

Deno.test("openPostgres() refuses words that come before TLS", async () => {
  await serving([() => encoder.encode("Sand more")], async (port) => {
    await assert.rejects(
      openPostgres(`postgres://a@127.0.0.2:${port}/a?sslmode=require`),
      /said more before TLS/,
    );
  });
});

postgresTest(
  "openPostgres() signs in as pg_hba.conf says: md5, password, and scram-sha-256 of any letters",
  async () => {
    await using postgres = await Postgres.start(findPostgres()!);
    await postgres.sql(`set password_encryption = 'md5';
      create role md5 superuser login password 'a';
      set password_encryption = 'scram-sha-256';
      create role clear superuser login password 'a';
      create role scram superuser login password 'Ⅸ ü'`);
    const file = `${postgres.data}/pg_hba.conf`;
    await Deno.writeTextFile(
      file,
      `host all md5 127.0.0.1/32 md5
host all clear 127.0.0.1/32 password
${await Deno.readTextFile(file)}`,
    );
    await postgres.sql("select pg_reload_conf()");
    await until(async () =>
      await postgres.sql(
        "select count(*) from pg_hba_file_rules where auth_method = 'md5'",
      ) === "1"
    );
    for (
      const [username, word] of [["md5", "a"], ["clear", "a"], [
        "scram",
        "IX ü",
      ]]
    ) {
      const password = encodeURIComponent(word);
      const url = Object.assign(new URL(postgres.url), { username, password });
      await using kv = await openPostgres(url.href);
      assert((await kv.atomic().set(["a"], username).commit()).ok);
      const wrong = Object.assign(new URL(url), { password: "wrong" });
      await assert.rejects(openPostgres(wrong.href), /28P01/);
    }
  },
);

postgresTest(
  "statements take turns on one connection, and each gets its own answer",
  async ({ open }) => {
    const kv = await open({ connections: 1 });
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    await Promise.all(
      numbers.map((n) => kv.atomic().set(["n", n], n).commit()),
    );
    const read = await Promise.all(numbers.map((n) => kv.get(["n", n])));
    assert.deepEqual(read.map(({ value }) => value), numbers);
  },
);

postgresTest(
  "a record of the greatest size and a list of many come in whole",
  async ({ open }) => {
    const kv = await open();
    const value = crypto.getRandomValues(new Uint8Array(65_000));
    const keys = Array.from({ length: 30 }, (_, n) => ["a", n]);
    await Promise.all(keys.map((key) => kv.atomic().set(key, value).commit()));
    const listed = await Array.fromAsync(kv.list({ prefix: ["a"] }));
    assert.deepEqual(listed.map(({ key }) => key), keys);
    for (const entry of listed) assert.deepEqual(entry.value, value);
  },
);

postgresTest(
  "a statement whose connection is ended says so, and the next gets another",
  async ({ open, sql, schema }) => {
    const kv = await open({ connections: 1 });
    await kv.atomic().set(["a"], 1).commit();
    // Holds the statement up until its connection is ended.
    await sql(`create function ${schema}.held() returns trigger language plpgsql
      as 'begin perform pg_sleep(60); return new; end';
      create trigger held before insert on ${schema}.kv
      for each row execute function ${schema}.held()`);
    const rejected = assert.rejects(
      kv.atomic().set(["b"], 1).commit(),
      /57P01 .*shutting down/,
    );
    const ended = `select count(pg_terminate_backend(pid)) from pg_stat_activity
      where wait_event = 'PgSleep' and query like '%${schema}.kv_commit%'`;
    await until(async () => await sql(ended) === "1");
    await rejected;
    assert.equal((await kv.get(["a"])).value, 1);
    assert.equal((await kv.get(["b"])).value, null);
  },
);

postgresTest(
  "close() lets a statement that is on its way be answered",
  async ({ url }) => {
    const kv = await openPostgres(url, { connections: 1 });
    const committing = kv.atomic().set(["a"], 1).commit();
    await kv[Symbol.asyncDispose]();
    assert((await committing).ok);
  },
);
