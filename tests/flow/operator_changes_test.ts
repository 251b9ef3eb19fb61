/**
 * Every change of an operator's that takes something away, and everything that
 * was open before: the next call after the restart obeys.
 */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { now } from "../../src/core/clock.ts";
import {
  JWT_BEARER_GRANT_TYPE,
  shortClientId,
} from "../../src/core/oauth/client.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import {
  endClient,
  endSubject,
  makeEndGrants,
} from "../../src/core/auth/grants/end_grant.ts";
import { accountStore } from "../../src/features/accounts/accounts.ts";
import { accountSessionStore } from "../../src/features/account_page/account_sessions.ts";
import { blockStore } from "../../src/core/store/blocks.ts";
import { Database } from "../../src/core/kv/database.ts";
import { grantStore } from "../../src/core/store/grants.ts";
import { sessionStore } from "../../src/core/store/sessions.ts";
import { taskStore } from "../../src/features/work/tasks.ts";
import type { HeadersOf } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import { recordLog } from "../kit/log.ts";
import { startAssertionProvider } from "../kit/assertion_provider.ts";
import { BASE_URL } from "../kit/server.ts";
import { Client, REDIRECT_URI } from "../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";

const DOCUMENT_URL = "https://app.example.com/client.json";
const SECRET = "a-secret-of-many-letters";
const KEY = "the-only-secret-key";

const tools = ["some", "more"].map((scope) =>
  tool({ name: scope, scopes: [scope], run: () => scope })
);

const APP = {
  client_id: "intranet",
  redirect_uris: [REDIRECT_URI],
  client_secret_env: "OAUTH_CLIENT_SECRET_ALL",
};
const MACHINE = {
  client_id: "machine",
  grant_types: ["client_credentials"],
  client_secret_env: "OAUTH_CLIENT_SECRET_ALL",
  scope: "some more",
};
const DESK = {
  ...MACHINE,
  client_id: "desk",
  grant_types: [JWT_BEARER_GRANT_TYPE],
};

type Settings = Record<string, string>;

function settings(idp: string): Settings {
  return {
    AUTH_STRATEGY: "oauth,bearer,api_key",
    OAUTH_CLIENTS: JSON.stringify([APP, MACHINE, DESK]),
    OAUTH_CLIENT_SECRET_ALL: SECRET,
    OAUTH_ASSERTION_ISSUERS: idp,
    BEARER_TOKEN: SECRET,
    API_KEY: KEY,
  };
}

function start(environment: Settings, kv?: Deno.Kv): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    environment,
    kv,
    fetchDocument: () =>
      Promise.resolve({
        document: {
          client_id: DOCUMENT_URL,
          client_name: "App",
          redirect_uris: [REDIRECT_URI],
        },
        expiresAt: now() + 60,
      }),
  });
}

const OPEN = [
  "connection",
  "connection of a document",
  "connection of a configured client",
  "personal token",
  "assertion",
  "machine",
  "static token",
  "static key",
] as const;

type Opened = typeof OPEN[number];

/** Credentials of callers, by how they came in. */
async function openAll(
  server: OAuthServer,
  idp: Awaited<ReturnType<typeof startAssertionProvider>>,
): Promise<Record<Opened, HeadersOf>> {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const connect = async (client: Client) =>
    bearer((await client.connect()).access_token);
  const issue = async (parameters: Settings) => {
    const response = await server.form("/token", {
      client_secret: SECRET,
      ...parameters,
    });
    return bearer((await response.json()).access_token);
  };
  const visitor = await AccountVisitor.signIn(server);
  return {
    "connection": await connect(await Client.register(server)),
    "connection of a document": await connect(new Client(server, DOCUMENT_URL)),
    "connection of a configured client": await connect(
      new Client(server, APP.client_id, REDIRECT_URI, SECRET),
    ),
    "personal token": bearer(await visitor.makeToken({ days: "365" })),
    "assertion": await issue({
      client_id: DESK.client_id,
      grant_type: JWT_BEARER_GRANT_TYPE,
      assertion: await idp.assertion(BASE_URL, {
        client_id: DESK.client_id,
        scope: "some more",
      }),
    }),
    "machine": await issue({
      client_id: MACHINE.client_id,
      grant_type: "client_credentials",
    }),
    "static token": bearer(SECRET),
    "static key": { "x-api-key": KEY },
  };
}

const PEOPLE: Opened[] = [
  "connection",
  "connection of a document",
  "connection of a configured client",
  "personal token",
];

const clients = (...entries: Record<string, unknown>[]) => ({
  OAUTH_CLIENTS: JSON.stringify(entries),
});

/** Changes, with what each ends and what it leaves with less. */
const CHANGES: Record<
  string,
  { to: Settings; ends?: Opened[]; narrows?: Opened[] }
> = {
  "nothing changed": { to: {} },
  "another provider": { to: { OAUTH_PROVIDER: "gitlab" }, ends: PEOPLE },
  "one instance of a provider": {
    to: { OAUTH_ISSUER: "https://git.example.com" },
    ends: PEOPLE,
  },
  "OAUTH_ALLOWED_USERS without them": {
    to: { OAUTH_ALLOWED_USERS: "43" },
    ends: [...PEOPLE, "assertion"],
  },
  "OAUTH_PERMISSIONS with nothing for them": {
    to: { OAUTH_PERMISSIONS: "43=*" },
    ends: [...PEOPLE, "assertion"],
  },
  "OAUTH_PERMISSIONS with less for them": {
    to: { OAUTH_PERMISSIONS: "*=some" },
    narrows: [...PEOPLE, "assertion"],
  },
  "a machine that is gone": { to: clients(APP, DESK), ends: ["machine"] },
  "a machine that is none any more": {
    to: clients(APP, DESK, { ...APP, client_id: MACHINE.client_id }),
    ends: ["machine"],
  },
  "a machine with one scope less": {
    to: clients(APP, DESK, { ...MACHINE, scope: "some" }),
    narrows: ["machine"],
  },
  "a machine with no scope": {
    to: clients(APP, DESK, { ...MACHINE, scope: "" }),
    ends: ["machine"],
  },
  "a configured client that is gone": {
    to: clients(MACHINE, DESK),
    ends: ["connection of a configured client"],
  },
  "a client of assertions that is gone": {
    to: clients(MACHINE, APP),
    ends: ["assertion"],
  },
  "CIMD_ENABLED=false": {
    to: { CIMD_ENABLED: "false" },
    ends: ["connection of a document"],
  },
  "CIMD_ALLOWED_DOMAINS without it": {
    to: { CIMD_ALLOWED_DOMAINS: "example.com" },
    ends: ["connection of a document"],
  },
  "OAUTH_ASSERTION_ISSUERS without it": {
    to: { OAUTH_ASSERTION_ISSUERS: "https://id.example.com" },
    ends: ["assertion"],
  },
  "OAUTH_BLOCKED with them": {
    to: { OAUTH_BLOCKED: "github:42" },
    ends: PEOPLE,
  },
  "OAUTH_BLOCKED with the domain of their address": {
    to: { OAUTH_BLOCKED: "@example.com" },
    ends: PEOPLE,
  },
  "OAUTH_BLOCKED with a configured client": {
    to: { OAUTH_BLOCKED: "client:intranet" },
    ends: ["connection of a configured client"],
  },
  "OAUTH_BLOCKED with the client of a document": {
    to: { OAUTH_BLOCKED: `client:${DOCUMENT_URL}` },
    ends: ["connection of a document"],
  },
  "OAUTH_BLOCKED with a client of assertions": {
    to: { OAUTH_BLOCKED: "client:desk" },
    ends: ["assertion"],
  },
  "OAUTH_BLOCKED with a machine": {
    to: { OAUTH_BLOCKED: "client:machine" },
    ends: ["machine"],
  },
  "another BEARER_TOKEN": {
    to: { BEARER_TOKEN: SECRET.toUpperCase() },
    ends: ["static token"],
  },
  "another API_KEY": {
    to: { API_KEY: KEY.toUpperCase() },
    ends: ["static key"],
  },
  // It is for those who come from now on.
  "OAUTH_REGISTRATION=false": { to: { OAUTH_REGISTRATION: "false" } },
};

Deno.test("a start at another BASE_URL tells of the connections that are not good there", async () => {
  await using before = await startOAuthServer({ tools });
  await (await Client.register(before)).connect();
  const { log, events } = recordLog();
  await using after = await startOAuthServer({
    tools,
    kv: before.kv,
    baseUrl: "https://renamed.example.com",
    log,
  });
  await after.app.start();
  await until(() => events.length > 0);
  const [{ message, properties }] = events;
  assert.match(message, /another BASE_URL/);
  assert.deepEqual(properties, {
    baseUrl: "https://renamed.example.com",
    formerBaseUrl: BASE_URL,
    connections: 1,
  });
});

/** The fate of two calls, the second for the scope that some lose. */
async function fate(server: OAuthServer, headers: HeadersOf): Promise<string> {
  const statuses: number[] = [];
  for (const name of ["some", "more"]) {
    const response = await server.call("tools/call", { name, arguments: {} }, {
      headers,
    });
    const text = await response.text();
    statuses.push(text.includes('"error":') ? 400 : response.status);
  }
  const [some, more] = statuses;
  if (some !== 200) return "ends";
  return more === 200 ? "stays" : "has less";
}

for (
  const [change, { to, ends = [], narrows = [] }] of Object.entries(CHANGES)
) {
  Deno.test(`a restart with ${change} ends or cuts what it is about, and nothing else`, async () => {
    await using idp = await startAssertionProvider();
    await using before = await start(settings(idp.issuer));
    const opened = await openAll(before, idp);
    for (const one of OPEN) {
      assert.equal(await fate(before, opened[one]), "stays", one);
    }
    await using after = await start(
      { ...settings(idp.issuer), ...to },
      before.kv,
    );
    for (const one of OPEN) {
      const expected = ends.includes(one)
        ? "ends"
        : narrows.includes(one)
        ? "has less"
        : "stays";
      assert.equal(await fate(after, opened[one]), expected, one);
    }
  });
}

/** The parts by which an operator blocks, on the database of a server. */
function blocking(kv: Deno.Kv) {
  const database = new Database(kv);
  const ended = {
    database,
    grants: grantStore(database),
    sessions: sessionStore(database),
    tasks: taskStore(database),
  };
  const ending = {
    records: [
      accountSessionStore(database).endAllOf,
      accountStore(database).endAllOf,
    ].map((endAllOf) => ({
      name: "",
      listOf: () => Promise.resolve([]),
      endAllOf,
    })),
    ...ended,
    endGrants: makeEndGrants(ended),
  };
  return { blocks: blockStore(database), ending };
}

const BLOCKS: Record<string, Opened[]> = {
  "github:42": PEOPLE,
  "client:intranet": ["connection of a configured client"],
  [`client:${DOCUMENT_URL}`]: ["connection of a document"],
  "client:desk": ["assertion"],
  "client:machine": ["machine"],
};

for (const [name, ends] of Object.entries(BLOCKS)) {
  Deno.test(`the block of ${name} while servers run ends what it is about, and nothing else`, async () => {
    await using idp = await startAssertionProvider();
    await using server = await start(settings(idp.issuer));
    const opened = await openAll(server, idp);
    const { blocks, ending } = blocking(server.kv);
    await blocks.block(name, { by: "ops" });
    if (name.startsWith("client:")) {
      await endClient(name.slice(7), ending);
    } else await endSubject(name, ending);
    await using other = await start(settings(idp.issuer), server.kv);
    for (const one of OPEN) {
      const expected = ends.includes(one) ? "ends" : "stays";
      assert.equal(await fate(other, opened[one]), expected, one);
    }
  });
}

/** The page that a person arrives at who approves a client. */
async function arrivalOf(server: OAuthServer, client: Client) {
  const browser = server.browser();
  const page = await browser.open(client.authorizationUrl());
  return await browser.press(page, "decision", "approve");
}

Deno.test("who is blocked is told so on a page, at every sign-in, until the block is lifted", async () => {
  await using server = await start({});
  const client = await Client.register(server);
  const { blocks } = blocking(server.kv);
  await blocks.block("github:42", { by: "ops" });
  const { page: account } = await AccountVisitor.signIn(server);
  assert.match(account.text, /Blocked here/);
  const page = await arrivalOf(server, client);
  assert.equal(page.status, 403);
  assert.match(page.text, /Blocked here/);
  await blocks.lift("github:42");
  assert.equal((await client.connect()).token_type, "Bearer");
  const visitor = await AccountVisitor.signIn(server);
  assert.doesNotMatch(visitor.words, /Blocked here/);
});

Deno.test("who is in OAUTH_BLOCKED is told so on a page, and so is a client", async () => {
  await using server = await start({ OAUTH_BLOCKED: "github:42" });
  const client = await Client.register(server);
  const page = await arrivalOf(server, client);
  assert.match(page.text, /Blocked here/);
  assert.match((await AccountVisitor.signIn(server)).page.text, /Blocked here/);
  await using second = await start({ OAUTH_BLOCKED: `client:${DOCUMENT_URL}` });
  const blocked = new Client(second, DOCUMENT_URL);
  const shown = await second.browser().open(blocked.authorizationUrl());
  assert.equal(shown.status, 403);
  assert.match(shown.text, /Blocked here/);
});

Deno.test("a client that is blocked while servers run is refused before its consent page, and on one that was open", async () => {
  await using server = await start({});
  const client = await Client.register(server);
  const browser = server.browser();
  const open = await browser.open(client.authorizationUrl());
  const { blocks } = blocking(server.kv);
  const name = `client:${shortClientId(client.clientId)}`;
  await blocks.block(name, { by: "ops" });
  for (
    const page of [
      await browser.open(client.authorizationUrl()),
      await browser.press(open, "decision", "approve"),
    ]
  ) {
    assert.equal(page.status, 403);
    assert.match(page.text, /Blocked here/);
    assert.doesNotMatch(page.text, /name="decision"/);
  }
  await blocks.lift(name);
  assert.equal((await client.connect({ browser })).token_type, "Bearer");
});
