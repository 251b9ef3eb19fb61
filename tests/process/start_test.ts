import assert from "node:assert/strict";
import {
  openSession,
  Process,
  startArgs,
  startProcess,
  TemporaryDirectory,
} from "./kit.ts";

Deno.test("a server tells a program where it listens, as one line of JSON", async () => {
  await using server = await startProcess();
  const url = await server.url();
  assert.equal(server.output.trim().split("\n").length, 1);
  const event = JSON.parse(server.output);
  assert.equal(event.message, "Listening");
  assert.equal(event.url, `${url}/mcp`);
  assert(event.connect.some((line: string) => line.startsWith("claude mcp")));
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

Deno.test("a port in use is one clear line", async () => {
  await using first = await startProcess();
  const { port } = new URL(await first.url());
  await using second = await startProcess({ env: { PORT: port } });
  assert.equal(await second.end(), 1);
  assert.match(
    second.output,
    new RegExp(`^PORT: ${port} on 127\\.0\\.0\\.1 is in use\\..*\\n$`),
  );
});

Deno.test("an address of another machine is one clear line", async () => {
  await using server = await startProcess({ env: { HOST: "192.0.2.1" } });
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    /^HOST, PORT: cannot listen on 192\.0\.2\.1.*\n$/,
  );
});

Deno.test("wrong settings are told all at once, and end the process with 1", async () => {
  await using server = await startProcess({
    env: { PORT: "http", LOG_LEVEL: "loud", AUTH_STRATEGY: "magic" },
  });
  assert.equal(await server.end(), 1);
  const lines = server.output.trim().split("\n");
  assert.equal(lines.length, 4);
  for (const variable of ["PORT", "LOG_LEVEL", "AUTH_STRATEGY"]) {
    assert(lines.some((line) => line.startsWith(`  ${variable}: got `)));
  }
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
  await using server = new Process(
    ["-c", script, "sh", Deno.execPath(), ...await startArgs()],
    { command: "sh", env: { DENO_DEPLOYMENT_ID: "d1", ERRORS: errors } },
  );
  await server.prints(/"Listening"/);
  // Warnings go to another stream than the other lines.
  assert.doesNotMatch(server.output, /WARNING/);
  assert.match(await Deno.readTextFile(errors), /"WARNING".*AUTH_STRATEGY/);
});

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("a database outside of what may be read is one clear line", async () => {
  await using directory = new TemporaryDirectory();
  await using server = await startProcess({
    env: { KV_PATH: `${directory.path}/tools.db` },
    terminal: true,
  });
  assert.equal(await server.end(), 1);
  assert.match(server.output, /^KV_PATH: \S+ may not be opened\..*\r\n$/);
  // The flags in the message are the ones that help.
  const flags = server.output.match(/--allow-(read|write)=\S+/g)!;
  const [run, ...args] = await startArgs();
  await using helped = new Process([run, ...flags, ...args], {
    env: { KV_PATH: `${directory.path}/tools.db` },
  });
  await openSession(await helped.url());
});

Deno.test("a service without KV_PATH is told which database it uses", async () => {
  await using server = await startProcess({
    env: {
      KV_PATH: "",
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
  assert((await Deno.stat(path)).isFile);
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
  assert.match(server.output, /^KV_PATH: \S+ cannot be opened: .*\n$/);
});

Deno.test("an open server on every network warns the person who started it", async () => {
  await using server = await startProcess({ env: { HOST: "0.0.0.0" } });
  assert.match(await server.url(), /^http:\/\/localhost:/);
  assert.match(server.output, /set AUTH_STRATEGY/);
  assert.match(server.output, /set BASE_URL/);
});
