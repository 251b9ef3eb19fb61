import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { clientConnectionStore } from "../../../src/core/store/connections.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { connectionKey, layoutKey } from "../../../src/core/kv/keys.ts";
import { LAYOUT } from "../../../src/core/kv/layout.ts";
import { Log, type LogEvent } from "../../../src/core/log/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { passkeyStore } from "../../../src/features/approvals/passkey_store.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { bindingOf } from "../../../src/core/oauth/grant.ts";
import { BASE_URL } from "../../../tests/kit/server.ts";
import { Client } from "../../../tests/kit/client.ts";
import { AccountVisitor } from "../../../tests/kit/account_visitor.ts";
import { test } from "../../../tests/kit/databases.ts";
import {
  type OAuthServer,
  startOAuthServer,
} from "../../../tests/kit/sign_in.ts";
import { Exit, Failure } from "../../call/failure.ts";
import { openRegister } from "../register.ts";
import { runCommand } from "../run_command.ts";
import { textTable } from "../command.ts";

/** A command line on a database, with what it told the log. */
function operator(kv: Deno.Kv) {
  const events: LogEvent[] = [];
  const log = new Log({}, { write: (event) => events.push(event) })
    .logger("operate");
  const register = openRegister(new Database(kv), log);
  return {
    events,
    run: (line: string) =>
      runCommand(line.split(" "), { register, log, by: "ops" }),
    [Symbol.asyncDispose]: () => register.close(),
  };
}

/** Checks the kind of an error, and its words. */
const is = (exitCode: number, words: string | RegExp) => (error: Error) =>
  error instanceof Failure && error.exitCode === exitCode &&
  (typeof words === "string"
    ? error.message === words
    : words.test(error.message));

/** Connects a person to a client of their own. */
async function connect(server: OAuthServer, as: string, email: string) {
  server.provider.subject = as;
  server.provider.email = email;
  const client = await Client.register(server, { client_name: `App ${as}` });
  return { client, tokens: await client.connect() };
}

/** Starts a server on which two people are connected. */
async function startWithTwo(kv: Deno.Kv) {
  const server = await startOAuthServer({ kv });
  const jo = await connect(server, "42", "jo@example.com");
  const ada = await connect(server, "43", "ada@example.org");
  return { server, jo, ada };
}

test.onDatabases("people end, block and unblock count at once for everything of that person", async ({ kv, other }) => {
  const { server, jo, ada } = await startWithTwo(kv);
  await using _server = server;
  await using it = operator(other);
  const refresh = async ({ client, tokens }: typeof jo) =>
    (await client.refresh(tokens.refresh_token)).status;

  assert.equal(await it.run("people end jo@example.com"), "1 connection ended");
  assert.equal(await refresh(jo), 400);
  const again = await connect(server, "42", "jo@example.com");
  const blocked = await it.run("people block github:42 --reason left");
  assert.match(blocked, /github:42 is blocked; 1 connection ended/);
  assert.equal(await refresh(again), 400);
  await assert.rejects(connect(server, "42", "jo@example.com"));
  assert.match(await it.run("people blocked"), /github:42 .*ops +left/);
  assert.equal(await it.run("clients blocked"), "None.");
  await it.run("people unblock github:42");
  assert(await connect(server, "42", "jo@example.com"));
  assert.equal(await refresh(ada), 200);
  assert.deepEqual(it.events.map(({ message, audit }) => [message, audit]), [
    ["Everything of a person ended on the command line", true],
    ["Blocked on the command line", true],
    ["Block lifted on the command line", true],
  ]);
  assert.equal(it.events[1].properties.operator, "ops");
});

test.onDatabases("clients list, end, block and unblock are about every person of a client", async ({ kv, other }) => {
  const { server, jo, ada } = await startWithTwo(kv);
  await using _server = server;
  await using it = operator(other);
  const id = jo.client.clientId.slice(0, 22);
  const { clients } = JSON.parse(await it.run("clients list --json"));
  assert.equal(clients.length, 2);
  assert(clients.some((one: { clientId: string }) => one.clientId === id));
  // An ID may begin with "-".
  assert.match(await it.run(`clients end -- ${id}`), /^1 conn/);
  assert.equal((await jo.client.refresh(jo.tokens.refresh_token)).status, 400);
  await it.run(`clients block client:${id}`);
  await assert.rejects(jo.client.connect());
  assert.match(await it.run("clients blocked"), new RegExp(`client:${id}`));
  await it.run(`clients unblock -- ${id}`);
  server.provider.subject = "42";
  assert(await jo.client.connect());
  assert.equal(
    (await ada.client.refresh(ada.tokens.refresh_token)).status,
    200,
  );
});

test.inMemory("people show takes no one for the only one of a name who may have another after so many", async ({ kv }) => {
  await using server = await startOAuthServer({ kv });
  const client = await Client.register(server);
  const connectAs = async (subject: string, name: string) => {
    server.provider.subject = subject;
    server.provider.personName = name;
    await client.connect();
  };
  await connectAs("1", "Ada");
  for (let n = 0; n < 10; n++) await connectAs(`2${n}`, `Ada ${n}`);
  await using it = operator(kv);
  assert.match(await it.run("people show Ada"), /^github:1:/);
  for (let n = 0; n < 100; n++) await connectAs(`3${n}`, `Ada ${n}`);
  await assert.rejects(
    it.run("people show Ada"),
    is(Exit.failed, /Several people may be called Ada: name a subject/),
  );
  assert.match(await it.run("people show github:1"), /^github:1:/);
});

test.inMemory("people block takes an address for its verified owner alone, not for someone who has it as a name", async ({ kv }) => {
  await using server = await startOAuthServer({ kv });
  server.provider.personName = "jo@example.com";
  await connect(server, "66", "mallory@example.org");
  // Another address, although a search treats ö like o.
  await connect(server, "67", "j\u00f6@example.com");
  await using it = operator(kv);
  await assert.rejects(
    it.run("people block jo@example.com"),
    is(Exit.failed, /^No one is called jo@example\.com/),
  );
  server.provider.personName = "Jo";
  await connect(server, "42", "jo@example.com");
  assert.match(
    await it.run("people block Jo@example.com"),
    /^github:42 is blocked/,
  );
});

test.onDatabases("people export has what is kept without secrets, and erase leaves nothing of it", async ({ kv, other }) => {
  const { server, jo } = await startWithTwo(kv);
  await using _server = server;
  await AccountVisitor.signIn(server);
  const it = operator(other);
  const tasks = taskStore(new Database(kv));
  const binding = bindingOf({
    issuer: BASE_URL,
    resource: `${BASE_URL}/mcp`,
    subject: "github:42",
  });
  await tasks.create("done", { binding });
  const outcome = { result: "private ".repeat(10_000) };
  await tasks.end("done", { status: "completed", outcome });
  await tasks.create("open", { binding });
  const exported = await it.run("people export github:42");
  const { connections, accountSessions, tasks: kept } = JSON.parse(exported);
  assert.equal(kept.length, 2);
  assert.equal(connections[0].identity.email, "jo@example.com");
  assert.equal(accountSessions.length, 1);
  for (const secret of ["refreshKey", jo.tokens.refresh_token]) {
    assert(!exported.includes(secret));
  }
  assert.equal(
    await it.run("people erase github:42"),
    "github:42 is erased; 1 connection ended",
  );
  assert.equal((await jo.client.refresh(jo.tokens.refresh_token)).status, 400);
  await it[Symbol.asyncDispose]();
  for await (const { key, value } of kv.list({ prefix: [] })) {
    if (key[0] === "authorization-request") continue;
    assert.notDeepEqual(key.slice(0, 2), connectionKey("github:42"));
    const text = JSON.stringify(
      [key, value],
      (_, it) => typeof it === "bigint" ? String(it) : it,
    );
    assert.doesNotMatch(text, /github:42|jo@example\.com|private/, text);
  }
  await using next = operator(other);
  assert.match(await next.run("people list"), /ada@example.org/);
  assert.doesNotMatch(await next.run("people list"), /jo@/);
});

test.onDatabases("people list prints pages and a search, and nothing that steers a terminal", async ({ kv, other }) => {
  const { server } = await startWithTwo(kv);
  await using _server = server;
  await connect(server, "44", "x\u001b[2J@example.net");
  await using it = operator(other);
  const all = await it.run("people list");
  assert.match(all, /github:42 .*jo@example\.com/);
  assert(!all.includes("\u001b"));
  const found = await it.run("people list ada@");
  assert.match(found, /github:43/);
  assert.doesNotMatch(found, /github:42/);
  assert.match(await it.run("people show github:42"), /not blocked.*\n/);
});

test.onDatabases("people export and --json escape what steers a terminal, and stay the same JSON", async ({ kv, other }) => {
  await using server = await startOAuthServer({ kv });
  const name = "x\u009b2J\u0085\u202e\u001b]0;y";
  server.provider.subject = "44";
  server.provider.personName = name;
  const client = await Client.register(server);
  await client.connect();
  await using it = operator(other);
  for (
    const [line, named] of [
      ["people export github:44", "connections"],
      ["people show github:44 --json", "connections"],
      ["people list --json", "people"],
    ]
  ) {
    const text = await it.run(line);
    assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Cf}]/u, line);
    const [found] = JSON.parse(text)[named];
    assert.equal(found.identity?.name ?? found.name, name);
  }
});

test.onDatabases("people show calls a connection that was paused and then ended closed", async ({ kv, other }) => {
  const { server, jo } = await startWithTwo(kv);
  await using _server = server;
  const database = new Database(kv);
  const connections = clientConnectionStore(database, grantStore(database));
  const clientId = jo.client.clientId;
  await connections.pause({ subject: "github:42", clientId }, 100);
  await using it = operator(other);
  assert.match(await it.run("people show github:42"), /App 42 +paused/);
  assert.equal(await it.run("people end github:42"), "1 connection ended");
  const shown = await it.run("people show github:42");
  assert.match(shown, /App 42 +closed/);
  const { connections: [kept] } = JSON.parse(
    await it.run("people export github:42"),
  );
  assert.equal(kept.pausedAt, undefined);
});

Deno.test("a command that names no one, or a part of a name, is refused and does nothing", async () => {
  using kv = await Deno.openKv(":memory:");
  const { server } = await startWithTwo(kv);
  await using _server = server;
  await using it = operator(kv);
  for (
    const line of [
      "people end jo",
      "people end nobody@example.com",
      "people end",
      "people destroy github:42",
      "people unblock github:42",
      "people end client:x",
      "people list --after x",
      "people list --reason",
      "people list --all",
      "people end github:42 --after x",
      "people end github:42 --reason x",
      "people blocked github:42",
      `people block github:${"4".repeat(70_000)}`,
      `people block github:42 --reason ${"x".repeat(70_000)}`,
      "clients blocked x",
      "clients list x",
      "clients end",
      "clients destroy x",
      "things list",
    ]
  ) {
    const isPart = line === "people end jo";
    if (isPart) server.provider.subject = "42";
    await assert.rejects(it.run(line), Failure, line);
  }
  assert.deepEqual(it.events, []);
});

Deno.test("the command line says how to find someone whom it does not know", async () => {
  using kv = await Deno.openKv(":memory:");
  await using it = operator(kv);
  await assert.rejects(
    it.run("people show jo"),
    is(
      Exit.failed,
      /No one is called jo: find them with "deno task ts people list"/,
    ),
  );
  for (const line of ["people destroy jo", "clients destroy"]) {
    await assert.rejects(
      it.run(line),
      is(Exit.usage, "Not understood: destroy"),
    );
  }
});

test.onDatabases("a command says that nothing is known of a name, and a block of it is made", async ({ kv, other }) => {
  const { server } = await startWithTwo(kv);
  await using _server = server;
  await using it = operator(other);
  for (const verb of ["show", "export", "end", "erase"]) {
    await assert.rejects(
      it.run(`people ${verb} github:99`),
      is(Exit.failed, "Nothing is known of github:99"),
    );
  }
  for (const line of ["people unblock github:99", "clients unblock foo"]) {
    await assert.rejects(
      it.run(line),
      is(Exit.failed, /^[\w:]+ is not blocked$/),
    );
  }
  assert.deepEqual(it.events, []);
  assert.equal(
    await it.run("clients end foo"),
    "No open connection is known of foo",
  );
  assert.equal(
    await it.run("people block github:99"),
    "github:99 is blocked; 0 connections ended. " +
      "Nothing is known of github:99 yet",
  );
  assert.match(await it.run("people blocked"), /^subject /);
  // From here on there is a block to tell of.
  assert.match(await it.run("people show github:99"), /^github:99: blocked/);
  assert.equal(await it.run("people end github:99"), "0 connections ended");
  assert.match(
    await it.run("clients block foo"),
    /^client:foo is blocked; .*No open connection is known of foo yet$/,
  );
  assert.match(await it.run("clients unblock foo"), /may connect again$/);
  // Everything that is known of a person may have ended.
  await it.run("people end github:42");
  assert.equal(await it.run("people end github:42"), "0 connections ended");
});

/** Runs a command as a process. Returns its exit code and its complaint. */
function runProcess(path: string, ...command: string[]) {
  return runModule("mod.ts", path, command);
}

async function runModule(
  name: string,
  path: string,
  args: string[],
  location = "http://unused.example",
) {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--unstable-kv",
      "--allow-all",
      // Names the default database, which is otherwise that of the clone.
      `--location=${location}`,
      new URL(`../${name}`, import.meta.url).href,
      ...args,
    ],
    env: { KV_PATH: path },
  }).output();
  return { code, said: new TextDecoder().decode(stderr) };
}

Deno.test("the commands do not repeat the password of an address", async () => {
  for (
    const address of [
      "Postgres://jo:hush@127.0.0.1/tools",
      "postgres:jo:hush@127.0.0.1/tools",
      "postgres://jo:1?hush@127.0.0.1/tools",
    ]
  ) {
    const people = await runProcess(address, "people", "blocked");
    assert.notEqual(people.code, 0);
    assert.doesNotMatch(people.said, /hush/);
    const move = await runModule("move.ts", "", [address, "to.db"]);
    assert.equal(move.code, 1);
    assert.doesNotMatch(move.said, /hush/);
  }
});

Deno.test("move says that a database without records has nothing to move", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/tools.db`;
  (await Deno.openKv(path)).close();
  for (const more of [[], ["--dry-run"]]) {
    const { code, said } = await runModule("move.ts", "", [
      ...[path, `${directory}/to.db`],
      ...more,
    ]);
    assert.deepEqual([code, said], [
      1,
      `${path} has no records: there is nothing to move\n`,
    ]);
  }
  await Deno.remove(directory, { recursive: true });
});

Deno.test("the command line ends with 1 where nothing is known of a name", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/tools.db`;
  (await Deno.openKv(path)).close();
  const { code, said } = await runProcess(
    path,
    "people",
    "erase",
    "dev:nobody",
  );
  await Deno.remove(directory, { recursive: true });
  assert.equal(said, "Nothing is known of dev:nobody\n");
  assert.equal(code, 1);
});

Deno.test("the command line says in one line that the database is locked, and what to do", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/tools.db`;
  (await Deno.openKv(path)).close();
  const holder = new DatabaseSync(path);
  holder.exec("BEGIN IMMEDIATE");
  const { code, said } = await runProcess(path, "people", "block", "dev:jo");
  holder.close();
  await Deno.remove(directory, { recursive: true });
  assert.match(
    said,
    /^\{.*Waiting for the database.*\}\nKV_PATH: .*locked\. Fix: Stop .*\n$/,
  );
  assert.doesNotMatch(said, /\n {4}at /);
  assert.equal(code, 1);
});

Deno.test("the command line refuses a database of another layout in one line", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/tools.db`;
  {
    using kv = await Deno.openKv(path);
    await kv.set(layoutKey(), LAYOUT + 1);
  }
  const { code, said } = await runProcess(path, "people", "block", "dev:jo");
  await Deno.remove(directory, { recursive: true });
  assert.match(said, /^The database: got "layout \d+", wants layout .*\n$/);
  assert.equal(code, 1);
});

Deno.test("the command line wants a database that is there", async () => {
  for (
    const [path, words] of [
      [":memory:", /within the server's process/],
      ["/nowhere/tools.db", /There is no database/],
    ] as const
  ) {
    const { code, said } = await runProcess(path, "people", "list");
    assert.equal(code, 1);
    assert.match(said, words);
    // The command is well formed: its usage would only hide the words.
    assert.doesNotMatch(said, /deno task ts clients/);
  }
});

Deno.test("without KV_PATH the command line uses the default database, if a server has", async () => {
  const location = `http://${crypto.randomUUID()}.example`;
  const list = () => runModule("mod.ts", "", ["people", "list"], location);
  const unused = await list();
  const code =
    `using kv = await Deno.openKv(); await kv.set(["layout"], ${LAYOUT})`;
  await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--unstable-kv", `--location=${location}`, code],
  }).output();
  const used = await list();
  // Deno stores the default database under the SHA-256 of the origin.
  const info = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json"],
  }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(info.stdout));
  const folder = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(location)),
  ).toHex();
  await Deno.remove(`${denoDir}/location_data/${folder}`, { recursive: true });
  assert.deepEqual([unused.code, used.code], [1, 0]);
  assert.match(unused.said, /^KV_PATH is not set: use that of the server/);
  assert.match(used.said, /^KV_PATH is not set: this is Deno's default/);
});

Deno.test("textTable() lets one long name widen no other line, and cuts it", () => {
  const long = "x".repeat(2048);
  const rows = [{ name: "Ada", since: "1" }, { name: long, since: "2" }];
  const [, ada, other] = textTable(rows).split("\n");
  assert(ada.length < 100, ada);
  assert.equal(other, `${long.slice(0, 400)}…  2`);
  // Subjects are copied from here.
  const subject = `https://id.example.com/${"a".repeat(60)}#${"b".repeat(255)}`;
  assert(textTable([{ subject }]).endsWith(`\n${subject}`));
});

test.onDatabases("people passkeys lists those of a person, and --reset deletes them", async ({ kv, other }) => {
  await using it = operator(other);
  const store = passkeyStore(new Database(kv));
  const made = { publicKey: "", counter: 0 };
  await store.add("github:42", { ...made, id: "a", name: "Phone" }, () => {});
  await store.add("github:42", { ...made, id: "b", name: "Key" }, () => {});
  assert.match(
    await it.run("people passkeys github:42"),
    /^name +made +counts +lastUse\nPhone .*\nKey /,
  );
  await assert.rejects(
    it.run("people show github:42 --reset"),
    is(Exit.usage, "Not understood: --reset"),
  );
  assert.equal(
    await it.run("people passkeys github:42 --reset"),
    "2 deleted: the next passkey of github:42 counts at once",
  );
  assert.equal(await it.run("people passkeys github:42"), "None.");
  assert.match(JSON.stringify(it.events), /Passkeys deleted on the command/);
  const next = { ...made, id: "c", name: "New" };
  const passkey = await store.add("github:42", next, () => {});
  assert.equal(passkey?.countsFrom, passkey?.createdAt);
});
