/** The latest calls, from a client to its person's page. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool, ToolError } from "../../../src/authoring/tool.ts";
import { statusOf } from "../../kit/answer.ts";
import { Client } from "../../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { initialize, type Json, rpc } from "../../kit/message.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";

const SECRET = "a-secret-of-many-letters";

const tools = [
  tool({
    name: "search",
    input: z.object({ words: z.string().optional() }),
    run: () => "found",
  }),
  tool({
    name: "fail",
    run: () => {
      throw new ToolError("No such luck");
    },
  }),
  tool({
    name: "crash",
    run: () => {
      throw new Error("broken");
    },
  }),
  tool({ name: "send", scopes: ["mail:send"], run: () => "sent" }),
  tool({
    name: "build",
    task: "required",
    run: () => {
      throw new ToolError("It does not build");
    },
  }),
];

function start(environment: Record<string, string> = {}): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    environment: { OAUTH_ADMINS: "root@example.com", ...environment },
  });
}

async function call(client: Client, token: string, name: string, input = {}) {
  return await statusOf(client.call(token, name, input));
}

/** Follows the link to the calls of the first client or token of a page. */
function lookAtCalls(visitor: AccountVisitor): Promise<string> {
  const link = /href="\/account(\/calls\?client=[^"]+)"/;
  const [, path] = link.exec(visitor.page.text)!;
  return visitor.look(path);
}

/** Reads the stored ledgers. */
async function ledgers(server: OAuthServer): Promise<Json[]> {
  const entries = server.kv.list<Json>({ prefix: ["ledger"] });
  return (await Array.fromAsync(entries)).map(({ value }) => value);
}

Deno.test("/account says when a connection was used last: its last call, or without a ledger its last refresh", async () => {
  using time = new FakeTime();
  for (
    const [environment, used] of [
      [{}, "just now"],
      [{ OAUTH_LEDGER_DAYS: "0" }, "10 minutes ago"],
    ] as const
  ) {
    await using server = await start(environment);
    const client = await Client.register(server);
    const { access_token: token } = await client.connect();
    time.tick(600);
    assert.equal(await call(client, token, "search"), 200);
    const { words } = await AccountVisitor.signIn(server);
    assert.match(words, new RegExp(`Last used ${used} , connected 10 min`));
  }
});

Deno.test("GET /account/calls shows how a person's calls ended, and nothing they said", async () => {
  await using server = await start();
  const client = await Client.register(server, { client_name: "Helper" });
  const { access_token } = await client.connect();
  const words = "my-most-private-words";
  for (let n = 0; n < 3; n++) {
    await call(client, access_token, "search", { words });
  }
  await call(client, access_token, "search", { words: 5 });
  await call(client, access_token, "fail");
  await call(client, access_token, "crash");
  await call(client, access_token, words);

  const visitor = await AccountVisitor.signIn(server);
  await lookAtCalls(visitor);
  for (
    const line of [
      /Failed in the server just now crash “ Helper ”/,
      /Failed just now fail “/,
      /Failed just now search “/,
      /Done 3 times just now search “/,
    ]
  ) assert.match(visitor.words, line);
  const [{ calls, ...rest }] = await ledgers(server);
  assert.deepEqual(Object.keys(rest).sort(), ["expiresAt", "mark"]);
  for (const call of calls) {
    assert.deepEqual(Object.keys(call).sort(), [
      "at",
      "count",
      "firstAt",
      "outcome",
      "tool",
    ]);
  }
  assert(!visitor.page.text.includes(words));
  assert(!JSON.stringify(calls).includes(words));
});

Deno.test("GET /account/calls shows calls in 2025 sessions", async () => {
  await using server = await start();
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const authorization = `Bearer ${access_token}`;
  const opened = await server.post(initialize("2025-11-25"), { authorization });
  await opened.body?.cancel();
  const called = await server.post(
    rpc("tools/call", { name: "fail", arguments: {} }),
    { authorization, "mcp-session-id": opened.headers.get("mcp-session-id")! },
  );
  await called.body?.cancel();
  const visitor = await AccountVisitor.signIn(server, { at: "/calls" });
  assert.match(visitor.words, /Failed just now fail/);
});

Deno.test("GET /account/calls shows no one else's calls", async () => {
  await using server = await start();
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  await call(client, access_token, "fail");
  const visitor = await AccountVisitor.signIn(server, {
    as: "43",
    at: "/calls",
  });
  assert.match(visitor.words, /No tool was called lately/);
  assert.doesNotMatch(visitor.words, /who are not all/);
});

Deno.test("GET /account/calls shows how a task ended, once it has", async () => {
  await using server = await start();
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const response = await server.call("tools/call", {
    name: "build",
    arguments: {},
  }, {
    capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
    headers: { authorization: `Bearer ${access_token}` },
  });
  const { result } = await response.json();
  assert.equal(result.resultType, "task", JSON.stringify(result));
  const visitor = await AccountVisitor.signIn(server);
  await until(async () =>
    /Failed just now build/.test(await visitor.look("/calls"))
  );
  assert.doesNotMatch(visitor.words, /Done just now build/);
});

Deno.test("a connection that ends takes its calls with it", async () => {
  await using server = await start();
  const client = await Client.register(server);
  const { access_token, refresh_token } = await client.connect();
  await call(client, access_token, "search");
  const visitor = await AccountVisitor.signIn(server, { at: "/calls" });
  assert.equal((await ledgers(server)).length, 1);
  await call(client, access_token, "search");
  await visitor.look();
  await visitor.press("/account/end");
  await visitor.look("/calls");
  assert.deepEqual(await ledgers(server), []);
  assert.equal((await client.refresh(refresh_token)).status, 400);
});

Deno.test("OAUTH_LEDGER_DAYS says how long calls are kept, and 0 keeps none", async () => {
  using time = new FakeTime();
  await using server = await start({ OAUTH_LEDGER_DAYS: "2" });
  const { client, tokens } = await server.person();
  await call(client, tokens.access_token, "search");
  const at = "/calls";
  assert.match(
    (await AccountVisitor.signIn(server, { at })).words,
    /Done just now search/,
  );
  const kept = /Your latest calls: tool, time and outcome/;
  const told = (await AccountVisitor.signIn(server, { at: "/data" })).words;
  assert.match(told, kept);
  assert.match(told, /2 days, or until their connection ends/);
  time.tick(2 * 24 * 60 * 60);
  const { words } = await AccountVisitor.signIn(server, { at });
  assert.match(words, /No tool was called lately/);

  await using none = await start({ OAUTH_LEDGER_DAYS: "0" });
  const other = await Client.register(none);
  await call(other, (await other.connect()).access_token, "search");
  const visitor = await AccountVisitor.signIn(none);
  assert.match(visitor.words, /App/);
  assert.doesNotMatch(visitor.words, /Latest calls|No tool was called/);
  await visitor.makeToken({ name: "Backup", days: "30" });
  assert.match(visitor.words, /Backup/);
  assert.doesNotMatch(visitor.words, /Latest calls/);
  assert.doesNotMatch(await visitor.look("/data"), kept);
  await visitor.look("/calls");
  assert.equal(visitor.page.status, 404);
  assert.deepEqual(await ledgers(none), []);
});

Deno.test("a token that a person made shows its calls", async () => {
  await using server = await start();
  const visitor = await AccountVisitor.signIn(server);
  const token = await visitor.makeToken();
  await call(new Client(server, ""), token, "crash");
  assert.match(
    await lookAtCalls(visitor),
    /Failed in the server just now crash “ Backup \(access token\) ”/,
  );
});

/** Starts a server with two people, a machine, and their calls. */
async function busyServer(): Promise<OAuthServer> {
  const server = await start({
    OAUTH_CLIENTS: JSON.stringify([{
      client_id: "ci",
      client_name: "Nightly build",
      grant_types: ["client_credentials"],
      client_secret_env: "OAUTH_CLIENT_SECRET_CI",
      scope: "mail:send",
    }]),
    OAUTH_CLIENT_SECRET_CI: SECRET,
  });
  for (
    const [subject, name, called] of [
      ["ada", "First app", ["fail", "search"]],
      ["bob", "Second app", ["search", "crash"]],
    ] as const
  ) {
    server.provider.subject = subject;
    server.provider.personName = subject;
    const client = await Client.register(server, { client_name: name });
    const { access_token } = await client.connect();
    for (const name of called) await call(client, access_token, name);
  }
  const response = await server.form("/token", {
    grant_type: "client_credentials",
    client_id: "ci",
    client_secret: SECRET,
  });
  const { access_token } = await response.json();
  await call(new Client(server, ""), access_token, "send");
  server.provider.personName = "root";
  return server;
}

/** Finds the rows of the calls on an operator's page. */
function rowsOf({ page }: AccountVisitor) {
  const [, section] = /<section>([^]*?)<\/section>/.exec(page.text)!;
  return section.split('<tr role="row">').slice(2).map((row) => {
    const [outcome, , tool, person, client] = row.split("<td").slice(1).map(
      (cell) => cell.replace(/^[^>]*>/, "").replaceAll(/<[^>]*>|[“”]/g, ""),
    );
    return { outcome, tool, person, client };
  });
}

const ROOT = { as: "root", email: "root@example.com", at: "/calls" };

Deno.test("an operator sees everyone's calls, failures first, machines too", async () => {
  await using server = await busyServer();
  const visitor = await AccountVisitor.signIn(server, ROOT);
  const rows = rowsOf(visitor).map(({ person, client, tool, outcome }) =>
    [person, client, tool, outcome].join(" ")
  );
  assert.doesNotMatch(visitor.words, /who are not all/);
  assert.deepEqual(rows.slice(0, 2).sort(), [
    "ada First app fail Failed",
    "bob Second app crash Failed in the server",
  ]);
  assert.deepEqual(rows.slice(2).sort(), [
    "Nightly build Nightly build send Done",
    "ada First app search Done",
    "bob Second app search Done",
  ]);
});

Deno.test("a machine's calls are shown when its grant is over", async () => {
  using time = new FakeTime();
  await using server = await busyServer();
  await AccountVisitor.signIn(server, ROOT);
  time.tick(2 * 60 * 60);
  const visitor = await AccountVisitor.signIn(server, ROOT);
  assert(
    rowsOf(visitor).some(({ client, tool }) =>
      client === "Nightly build" && tool === "send"
    ),
  );
});

for (
  const [query, wanted] of [
    ["?person=AD", ["ada fail", "ada search"]],
    ["?person=+ada+", ["ada fail", "ada search"]],
    ["?client=+second+", ["bob crash", "bob search"]],
    ["?person=ada&outcome=tool_error", ["ada fail"]],
    ["?client=app&outcome=ok", ["ada search", "bob search"]],
    ["?person=no one", []],
  ] as const
) {
  Deno.test(`an operator filters calls by ${query}`, async () => {
    await using server = await busyServer();
    const visitor = await AccountVisitor.signIn(server, ROOT);
    await visitor.look(`/calls${query}`);
    const rows = rowsOf(visitor).map(({ person, tool }) => `${person} ${tool}`);
    assert.deepEqual(rows.sort(), wanted);
    const isEmpty = /No call is like this/.test(visitor.words);
    assert.equal(isEmpty, wanted.length === 0);
    const form = formOf(visitor.page, "/account/calls").text;
    for (const [, value] of new URLSearchParams(query)) {
      assert(form.includes(`value="${value}"`), value);
    }
  });
}

Deno.test("an operator sees calls of every outcome when none is asked for that there is", async () => {
  await using server = await busyServer();
  const visitor = await AccountVisitor.signIn(server, ROOT);
  const all = rowsOf(visitor).length;
  await visitor.look("/calls?outcome=other");
  assert.equal(rowsOf(visitor).length, all);
});

Deno.test("an operator is shown no calls where none are kept", async () => {
  await using server = await start({ OAUTH_LEDGER_DAYS: "0" });
  const visitor = await AccountVisitor.signIn(server, { ...ROOT, at: "" });
  assert.equal(visitor.page.status, 200);
  assert.doesNotMatch(visitor.words, /Calls/);
  await visitor.look("/calls");
  assert.equal(visitor.page.status, 404);
});

Deno.test("no one but an operator sees everyone's calls, whatever they ask for", async () => {
  await using server = await busyServer();
  const visitor = await AccountVisitor.signIn(server);
  assert.doesNotMatch(
    await visitor.look("/calls?person=ada") + await visitor.look("/calls"),
    /First app|Nightly build|Person/,
  );
});

Deno.test("what a filter asks for is shown as text", async () => {
  await using server = await start();
  const visitor = await AccountVisitor.signIn(server, ROOT);
  const query = new URLSearchParams({ person: `"><script>alert(1)</script>` });
  await visitor.look(`/calls?${query}`);
  assert(!visitor.page.text.includes("<script>alert"));
});
