import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { layoutKey } from "../../src/core/kv/keys.ts";
import { LAYOUT } from "../../src/core/kv/layout.ts";
import { freePort, NO_PORT } from "../kit/port.ts";
import {
  openSession,
  Process,
  REPOSITORY,
  startArgs,
  startProcess,
  TemporaryDirectory,
} from "../kit/process.ts";
import { until } from "../kit/wait.ts";

/**
 * Starts with Deno's default database of an origin of this layout: the one of
 * this folder may be of another.
 */
const ORIGIN = `--location=https://layout-${LAYOUT}.example.com`;

Deno.test("a server tells a program where it listens, as one line of JSON", async () => {
  await using server = await startProcess();
  const url = await server.url();
  assert.equal(server.output.trim().split("\n").length, 1);
  const event = JSON.parse(server.output);
  assert.equal(event.message, "Listening");
  assert.equal(event.url, `${url}/mcp`);
  // The ways to connect are on the page at /.
  assert(server.output.length < 400, server.output);
  await openSession(url);
});

Deno.test("a server tells a person where it listens and how to connect", async () => {
  await using server = await startProcess({ terminal: true });
  const url = await server.url();
  await server.prints(/open http\S+ in a browser/);
  assert(
    server.output.includes(
      `claude mcp add --transport http tool-server ${url}/mcp`,
    ),
  );
});

Deno.test("a server with a public address says that everyone may use it, where it listens here only too", async () => {
  await using server = await startProcess({
    env: { BASE_URL: "https://x.example.com", HOST: "127.0.0.1" },
  });
  await server.prints(/Everyone who reaches this server may use it/);
});

Deno.test("the banner names each client once, and the next step in development", async () => {
  await using server = new Process([...await startArgs(), "--views"], {
    env: { KV_PATH: ":memory:" },
    terminal: true,
  });
  await server.prints(/open http\S+ in a browser/);
  assert.match(
    server.output,
    /Try it +deno task ts list, then deno task ts call/,
  );
  assert.match(server.output, /Claude, ChatGPT +Calls from the internet/);
  assert.doesNotMatch(server.output, /mcp-remote/);
});

Deno.test("a database of another layout is one clear line, and stays as it is", async () => {
  await using directory = new TemporaryDirectory();
  const KV_PATH = `${directory.path}/tools.db`;
  const key = layoutKey();
  {
    using kv = await Deno.openKv(KV_PATH);
    await kv.set(key, LAYOUT + 1);
  }
  await using server = await startProcess({
    directory: directory.path,
    env: { KV_PATH },
  });
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    new RegExp(
      `^The database: got "layout ${
        LAYOUT + 1
      }", wants layout ${LAYOUT}; .*\\n$`,
    ),
  );
  using kv = await Deno.openKv(KV_PATH);
  const kept = await Array.fromAsync(kv.list({ prefix: [] }));
  assert.deepEqual(kept.map(({ key, value }) => [key, value]), [
    [key, LAYOUT + 1],
  ]);
});

Deno.test("a start that fails under --watch answers no request", async () => {
  await using directory = new TemporaryDirectory();
  const KV_PATH = `${directory.path}/tools.db`;
  {
    using kv = await Deno.openKv(KV_PATH);
    await kv.set(layoutKey(), LAYOUT + 1);
  }
  const [run, ...flags] = await startArgs(directory.path);
  const PORT = `${freePort()}`;
  await using server = new Process([run, "--watch", ...flags, "--no-drain"], {
    env: { KV_PATH, PORT },
  });
  await server.prints(/The database: got "layout \d+"/);
  await until(async () => {
    try {
      await (await fetch(`http://127.0.0.1:${PORT}/health`)).body?.cancel();
      return false;
    } catch {
      return true;
    }
  });
});

Deno.test("a port in use is one clear line", async () => {
  await using first = await startProcess();
  const { port } = new URL(await first.url());
  for (const misspelt of [false, true]) {
    await using second = await startProcess({
      env: { PORT: port, ...misspelt && { OAUTH_ALLOWED_USER: "jo" } },
    });
    assert.equal(await second.end(), 1);
    const lines = second.output.trim().split("\n");
    const last = lines.pop()!;
    assert(last.startsWith(`PORT: got "${port}", wants a port that is free `));
    assert.equal(lines.length, misspelt ? 1 : 0);
    if (misspelt) assert.match(lines[0], /is OAUTH_ALLOWED_USERS meant/);
  }
});

Deno.test("a port to share that Deno may not share is one clear line", async () => {
  await using server = await startProcess({ env: { REUSE_PORT: "true" } });
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    /^REUSE_PORT: got "true", wants Deno's --unstable-net.*\n$/,
  );
});

Deno.test("an address of another machine is one clear line", async () => {
  await using server = await startProcess({ env: { HOST: "192.0.2.1" } });
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    /^HOST: got "192\.0\.2\.1", wants an address of this machine.*\n$/,
  );
});

Deno.test("wrong settings are told all at once, and end the process with 1", async () => {
  await using server = await startProcess({
    env: {
      HOST: "192.0.2.1",
      PORT: "http",
      LOG_LEVEL: "loud",
      AUTH_STRATEGY: "magic",
    },
  });
  assert.equal(await server.end(), 1);
  const lines = server.output.trim().split("\n");
  assert.equal(lines.length, 5);
  for (const variable of ["HOST", "PORT", "LOG_LEVEL", "AUTH_STRATEGY"]) {
    assert(lines.some((line) => line.startsWith(`  ${variable}: got `)));
  }
});

Deno.test("a start names all faults at once, with the files of the definitions and a port in use", async () => {
  await using directory = new TemporaryDirectory();
  await using first = await startProcess();
  const { port } = new URL(await first.url());
  const source = new URL("src/mod.ts", REPOSITORY);
  const from = `import { tool } from "${source}";\n`;
  for (
    const [name, text] of Object.entries({
      "a.ts": `${from}\nexport default tool({ run: () => "" });\n`,
      "b.ts": `${from}export default tool({
  name: "b",
  titel: "B",
  run: () => "",
});\n`,
      "main.ts": `import { serve } from "${source}";
import a from "./a.ts";
import b from "./b.ts";
await serve({ name: "s", version: "1", tools: [a, b] });\n`,
    })
  ) await Deno.writeTextFile(`${directory.path}/${name}`, text);
  const folder = directory.path.split("/").at(-1);
  await using server = await startProcess({
    entry: `${directory.path}/main.ts`,
    env: { PORT: port, LOG_LEVEL: "loud", OAUTH_ALLOWED_USER: "jo" },
  });
  assert.equal(await server.end(), 1);
  const lines = server.output.trim().split("\n")
    .map((line) => line.replace(/ Fix: .*/, ""));
  assert.deepEqual(lines, [
    "These definitions need fixing:",
    `  serve: tools[0]: name is missing: it must be text (${folder}/a.ts:3)`,
    `  tool b: titel is no option: is title meant? (${folder}/b.ts:2)`,
    "These settings need fixing:",
    `  PORT: got "${port}", wants a port that is free on 127.0.0.1.`,
    '  LOG_LEVEL: got "loud", wants one of debug, info, warning, error, off.',
    "  OAUTH_ALLOWED_USER is not read: is OAUTH_ALLOWED_USERS meant?",
  ]);
});

Deno.test("a misspelt name of a setting is told at the start, under the permissions of the tasks", async () => {
  await using server = await startProcess({
    env: { OAUTH_ALLOWED_USER: "jo@example.com" },
  });
  await server.prints(/"Listening"/);
  assert.match(
    server.output,
    /WARNING.*OAUTH_ALLOWED_USER is not read: is OAUTH_ALLOWED_USERS meant\?/,
  );
  assert.doesNotMatch(server.output, /jo@example/);
});

Deno.test("a broken line of .env ends the start, with its number and without its text", async () => {
  await using directory = new TemporaryDirectory();
  const text = "PORT=0\nHOST 127.0.0.1\nAPI_KEY: hush\nPORT=1\n";
  await Deno.writeTextFile(`${directory.path}/.env`, text);
  const [run, ...args] = await startArgs();
  const config = new URL("deno.json", REPOSITORY).pathname;
  const main = new URL("main.ts", REPOSITORY).pathname;
  const flags = args.map((it) => it === "main.ts" ? main : it);
  await using server = new Process(
    [run, "--allow-read=.env", `--config=${config}`, ...flags],
    { cwd: directory.path, env: { KV_PATH: ":memory:" } },
  );
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    /\.env: got "line 2, 3, 4", wants NAME=value in each line, and each name in one\. Fix: /,
  );
  assert.doesNotMatch(server.output, /hush/);
});

Deno.test("a start reads what --allow-env names, and never asks for more", async () => {
  const [run, ...args] = await startArgs();
  const named = args.filter((it) => it !== "-P" && it !== "--no-prompt");
  await using server = new Process(
    [run, "--allow-net", "--allow-env=PORT,KV_PATH,MCP_TITLE", ...named],
    { env: { KV_PATH: ":memory:", MCP_TITLE: "Rain" }, terminal: true },
  );
  await server.prints(/Rain listens on/);
});

Deno.test("a deployment with wrong settings answers 500 and logs the details", async () => {
  const port = freePort();
  await using server = new Process(
    // On the platform, Deno.serve() chooses the address.
    ["run", "--allow-all", "main.ts"],
    {
      env: {
        DENO_DEPLOYMENT_ID: "d1",
        DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
        AUTH_STRATEGY: "bearer",
        KV_PATH: "data/tools.db",
      },
    },
  );
  await server.prints(/Misconfigured/);
  const response = await fetch(`http://127.0.0.1:${port}/mcp`);
  assert.equal(response.status, 500);
  assert.deepEqual(await response.json(), { error: "server_misconfigured" });
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.match(server.output, /BEARER_TOKEN/);
  assert.match(server.output, /KV_PATH/);
});

Deno.test("a deployment logs each event by a call of its level", async () => {
  await using directory = new TemporaryDirectory();
  const errors = `${directory.path}/errors`;
  const script = 'exec "$@" 2>"$ERRORS"';
  const [run, ...args] = await startArgs();
  await using server = new Process(
    ["-c", script, "sh", Deno.execPath(), run, ORIGIN, ...args],
    { command: "sh", env: { DENO_DEPLOYMENT_ID: "d1", ERRORS: errors } },
  );
  await server.prints(/"Listening"/);
  // Warnings go to another stream than the other lines.
  assert.doesNotMatch(server.output, /WARNING/);
  assert.match(await Deno.readTextFile(errors), /"WARNING".*AUTH_STRATEGY/);
});

Deno.test("a database outside of what may be read is one clear line", async () => {
  await using directory = new TemporaryDirectory();
  await using server = await startProcess({
    env: { KV_PATH: `${directory.path}/tools.db` },
    terminal: true,
  });
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    /^KV_PATH: got \S+, wants a file that may be opened\..*\r\n$/,
  );
  // The flags in the message are the ones that help.
  const flags = server.output.match(/--allow-(read|write)=\S+/g)!;
  const [run, ...args] = await startArgs();
  await using helped = new Process([run, ...flags, ...args], {
    env: { KV_PATH: `${directory.path}/tools.db` },
  });
  await openSession(await helped.url());
});

Deno.test("a service without KV_PATH is told which database it uses", async () => {
  const [run, ...args] = await startArgs();
  await using server = new Process([run, ORIGIN, ...args], {
    env: {
      BASE_URL: "https://tools.example.com",
      AUTH_STRATEGY: "bearer",
      BEARER_TOKEN: "a-token-that-is-long-enough",
    },
  });
  await server.prints(/"Listening".*"database":"Deno's default/);
  assert.match(server.output, /WARNING.*belongs to this folder: set KV_PATH/);
});

Deno.test("a database in a directory that is not there yet is made", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/deep/tools.db`;
  await using server = await startProcess({
    directory: directory.path,
    env: { KV_PATH: path },
  });
  await openSession(await server.url());
  assert.deepEqual(await modes(`${directory.path}/deep`), {
    "": 0o700,
    "tools.db": 0o600,
    "tools.db-shm": 0o600,
    "tools.db-wal": 0o600,
  });
});

/** The rights of a folder, and of each file in it. */
async function modes(path: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (
    const name of ["", ...[...Deno.readDirSync(path)].map(({ name }) => name)]
      .sort()
  ) {
    found[name] = (await Deno.stat(`${path}/${name}`)).mode! & 0o777;
  }
  return found;
}

Deno.test("a database that others may read is theirs no more, and a group keeps what it was given", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  {
    using kv = await Deno.openKv(path);
    await kv.set(["a"], 1);
    await Deno.chmod(path, 0o664);
    await Deno.chmod(`${path}-wal`, 0o666);
    await using server = await startProcess({
      directory: directory.path,
      env: { KV_PATH: path },
    });
    await openSession(await server.url());
  }
  const { "tools.db": file, "tools.db-wal": log = 0o660 } = await modes(
    directory.path,
  );
  assert.deepEqual([file, log], [0o660, 0o660]);
});

Deno.test("a server says that it waits for a locked database, and starts when it is free", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  (await Deno.openKv(path)).close();
  const locking = new DatabaseSync(path);
  locking.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  await using server = await startProcess({
    directory: directory.path,
    env: { KV_PATH: path },
  });
  try {
    await server.prints(/WARNING.*Waiting for the database: it is locked by/);
  } finally {
    locking.close();
  }
  await openSession(await server.url());
});

Deno.test("a server whose provider does not answer says so once, with the setting, and serves", async () => {
  const issuer = `http://127.0.0.1:${NO_PORT}`;
  await using server = await startProcess({
    env: {
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: issuer,
      OAUTH_CLIENT_ID: "c",
      OAUTH_CLIENT_SECRET: "a-secret-of-ours",
    },
  });
  const url = await server.url();
  const [line] = await server.prints(/.*No one can sign in.*/);
  const event = JSON.parse(line);
  assert.equal(event.level, "WARNING");
  assert.equal(event.setting, `OAUTH_ISSUER=${issuer}`);
  for (let n = 0; n < 2; n++) {
    const ready = await fetch(`${url}/ready`);
    assert.equal(ready.status, 200);
    assert.equal((await ready.json()).provider, "unavailable");
  }
  assert.equal(server.output.match(/No one can sign in/g)!.length, 1);
  assert.doesNotMatch(server.output, /a-secret-of-ours/);
});

Deno.test("a database that is none is one clear line", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  await Deno.writeTextFile(path, "This is not a database. ".repeat(100));
  await using server = await startProcess({
    directory: directory.path,
    env: { KV_PATH: path },
  });
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    /^KV_PATH: got \S+, wants a database that can be opened: .*\n$/,
  );
});

Deno.test("an open server on every network warns the person who started it", async () => {
  await using server = await startProcess({ env: { HOST: "0.0.0.0" } });
  assert.match(await server.url(), /^http:\/\/localhost:/);
  assert.match(server.output, /set AUTH_STRATEGY/);
  assert.match(server.output, /set BASE_URL/);
});
