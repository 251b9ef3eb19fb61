/**
 * Changes of an operator, of a person at the provider, and of settings, against
 * everything that may be open when they come. docs/people.md has the same
 * table; the clock of these tests moves only when told, so that a second is a
 * second however slow the machine is.
 */
import assert from "node:assert/strict";
import { runCommand } from "../../packages/operate/run_command.ts";
import { openRegister } from "../../packages/operate/register.ts";
import { shortClientId } from "../../src/core/oauth/client.ts";
import { tool } from "../../src/authoring/tool.ts";
import { blockStore } from "../../src/core/store/blocks.ts";
import { Database } from "../../src/core/kv/database.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { Events, isStream, resultOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import type { Browser } from "../kit/browser.ts";
import { FakeProvider } from "../kit/fake_provider.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { silentLogger } from "../kit/log.ts";
import { type HeadersOf, rpc } from "../kit/message.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";
import { until } from "../kit/wait.ts";

const HOUR = 60 * 60;
const DAY = 24 * HOUR;
const SECRET = "a-secret-of-many-letters";
const CAPABILITIES = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const MACHINE = {
  client_id: "machine",
  grant_types: ["client_credentials"],
  client_secret_env: "OAUTH_CLIENT_SECRET_MACHINE",
  scope: "read",
};

type Settings = Record<string, string>;

const SETTINGS: Settings = {
  OAUTH_CLIENTS: JSON.stringify([MACHINE]),
  OAUTH_CLIENT_SECRET_MACHINE: SECRET,
};

/** Everything that may be open, in the order of the columns. */
const COLUMNS = [
  "call",
  "stream",
  "session",
  "task",
  "sleeping work",
  "refresh",
  "personal token",
  "account page",
  "machine",
] as const;

type Column = typeof COLUMNS[number];

/**
 * The time at which a change counts: within a second on servers that run; from
 * the restart on; at the next refresh, and for the rest within a second of it;
 * or never.
 */
type Cell = "1 s" | "restart" | "refresh" | "goes on";

interface Change {
  /** Settings before it, besides those of all. */
  from?: Settings;
  /** The person before it. */
  person?: Partial<FakeProvider>;
  /** The age of the sign-in, in seconds, at its refresh before the change. */
  age?: number;
  /** Settings after it, with which the server is started again. */
  to?: Settings;
  /** The address of the server from then on. */
  baseUrl?: string;
  /**
   * Does the change while the server runs. Settings that it gives are those of
   * a restart.
   */
  happen?(things: Things): void | Promise<Settings | void>;
  cells: Readonly<Record<Column, Cell>>;
}

/** The cells of everything that ends in the same way, but for some. */
function all(
  cell: Cell,
  others: Partial<Record<Column, Cell>> = {},
): Record<Column, Cell> {
  const every = COLUMNS.map((column) => [column, cell] as const);
  return { ...Object.fromEntries(every) as Record<Column, Cell>, ...others };
}

/** A restart ends what runs in a process, whatever has changed. */
const RUNNING = {
  call: "restart",
  stream: "restart",
  task: "restart",
} as const;
const KEPT_BY_PERSON = {
  "personal token": "goes on",
  "account page": "goes on",
} as const;
const MACHINE_GOES_ON = { machine: "goes on" } as const;
const onCommandLine =
  (line: (things: Things) => string) => async (things: Things) => {
    const register = openRegister(new Database(things.server.kv), silentLogger);
    const words = line(things).split(" ");
    await runCommand(words, { register, log: silentLogger, by: "ops" });
    await register.close();
  };

const blockAlone =
  (name: (things: Things) => string) => async (things: Things) => {
    const blocks = blockStore(new Database(things.server.kv));
    await blocks.block(name(things), { by: "ops" });
  };

const CHANGES: Readonly<Record<string, Change>> = {
  "`deno task ts people block`": {
    happen: onCommandLine(() => "people block github:42"),
    cells: all("1 s", MACHINE_GOES_ON),
  },
  "… that dies before it ended anything": {
    happen: blockAlone(() => "github:42"),
    cells: all("1 s", MACHINE_GOES_ON),
  },
  "… as the clock is set back by an hour": {
    async happen(things) {
      await onCommandLine(() => "people block github:42")(things);
      things.time.set(-HOUR);
    },
    cells: all("1 s", MACHINE_GOES_ON),
  },
  "`deno task ts people end`": {
    happen: onCommandLine(() => "people end github:42"),
    cells: all("1 s", MACHINE_GOES_ON),
  },
  "`deno task ts clients block`, of an app": {
    happen: onCommandLine(({ client }) =>
      `clients block -- ${client.clientId}`
    ),
    cells: all("1 s", { ...KEPT_BY_PERSON, ...MACHINE_GOES_ON }),
  },
  "… before it has found the app's connections": {
    happen: blockAlone(({ client }) =>
      `client:${shortClientId(client.clientId)}`
    ),
    cells: all("1 s", { ...KEPT_BY_PERSON, ...MACHINE_GOES_ON }),
  },
  "`deno task ts clients block`, of a machine": {
    happen: onCommandLine(() => "clients block machine"),
    cells: all("goes on", { machine: "1 s" }),
  },
  "a person in `OAUTH_BLOCKED`": {
    to: { OAUTH_BLOCKED: "github:42" },
    cells: all("restart", MACHINE_GOES_ON),
  },
  "an app in `OAUTH_BLOCKED`": {
    happen: ({ client: { clientId } }) =>
      Promise.resolve({ OAUTH_BLOCKED: `client:${shortClientId(clientId)}` }),
    cells: all("restart", { ...KEPT_BY_PERSON, ...MACHINE_GOES_ON }),
  },
  "a machine in `OAUTH_BLOCKED`": {
    to: { OAUTH_BLOCKED: "client:machine" },
    cells: all("goes on", { ...RUNNING, machine: "restart" }),
  },
  "another provider": {
    to: { OAUTH_PROVIDER: "gitlab" },
    cells: all("restart", MACHINE_GOES_ON),
  },
  "one tenant of a provider": {
    from: { OAUTH_PROVIDER: "microsoft" },
    to: {
      OAUTH_ISSUER:
        "https://login.microsoftonline.com/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0",
    },
    cells: all("restart", MACHINE_GOES_ON),
  },
  "a person out of `OAUTH_ALLOWED_USERS`": {
    from: { OAUTH_ALLOWED_USERS: "42,43" },
    to: { OAUTH_ALLOWED_USERS: "43" },
    cells: all("restart", { "account page": "goes on", ...MACHINE_GOES_ON }),
  },
  "a rule out of `OAUTH_PERMISSIONS`": {
    from: { OAUTH_PERMISSIONS: "42=*;43=*" },
    to: { OAUTH_PERMISSIONS: "43=*" },
    cells: all("restart", { "account page": "goes on", ...MACHINE_GOES_ON }),
  },
  "an address leaves the domain of a rule": {
    from: { OAUTH_ALLOWED_USERS: "@example.com" },
    // The provider is asked once a day, here at the refresh after the change.
    age: DAY - HOUR / 2,
    happen({ server, time }) {
      server.provider.email = "jo@elsewhere.example";
      time.tick(HOUR / 2);
    },
    cells: all("refresh", { ...KEPT_BY_PERSON, ...MACHINE_GOES_ON }),
  },
  "a person leaves the group of a rule": {
    from: { OAUTH_PERMISSIONS: "org:acme=*" },
    person: { memberships: { organizations: ["acme"] } },
    happen({ server }) {
      server.provider.memberships = {};
    },
    cells: all("refresh", { ...KEPT_BY_PERSON, ...MACHINE_GOES_ON }),
  },
  "another `OAUTH_CLIENT_SECRET`": {
    to: { OAUTH_CLIENT_SECRET: "another-secret" },
    cells: all("goes on", RUNNING),
  },
  "another secret of a machine": {
    to: { OAUTH_CLIENT_SECRET_MACHINE: SECRET.toUpperCase() },
    cells: all("goes on", RUNNING),
  },
  "a refresh by two processes at once": {
    from: { OAUTH_PERMISSIONS: "org:acme=*" },
    person: { memberships: { organizations: ["acme"] } },
    happen: (things) => things.refreshTwice(),
    cells: all("goes on"),
  },
  "another `BASE_URL`": {
    baseUrl: "https://renamed.example.com",
    to: {},
    cells: all("restart"),
  },
  "a clock that is set back by an hour": {
    happen: ({ time }) => time.set(-HOUR),
    cells: all("goes on"),
  },
  "a clock that is set ahead by ten minutes": {
    happen: ({ time }) => time.set(10 * 60),
    cells: all("goes on"),
  },
  "fewer `OAUTH_ACCESS_TOKEN_MINUTES`": {
    to: { OAUTH_ACCESS_TOKEN_MINUTES: "5" },
    happen: ({ time }) => time.tick(5 * 60),
    cells: all("goes on", {
      ...RUNNING,
      session: "restart",
      machine: "restart",
    }),
  },
  "fewer `OAUTH_CONNECTION_DAYS`": {
    to: { OAUTH_CONNECTION_DAYS: "1" },
    age: DAY,
    cells: all("restart", { ...KEPT_BY_PERSON, ...MACHINE_GOES_ON }),
  },
  "fewer `OAUTH_PERSONAL_TOKEN_DAYS`": {
    to: { OAUTH_PERSONAL_TOKEN_DAYS: "1" },
    age: DAY,
    cells: all("goes on", { ...RUNNING, "personal token": "restart" }),
  },
};

/** The work of the tools that never end by themselves, as their names tell. */
class Work {
  readonly begun = new Set<string>();
  readonly ended = new Set<string>();

  /** @param woken the servers' work that has slept, and has gone on */
  constructor(private readonly woken: Set<string>) {}

  tools() {
    const endless = (name: string, task?: "required") =>
      tool({
        name,
        scopes: ["read"],
        ...task && { task },
        run: (_, { signal }) => {
          this.begun.add(name);
          return new Promise<string>((_, reject) =>
            signal.addEventListener("abort", () => {
              this.ended.add(name);
              reject(signal.reason);
            })
          );
        },
      });
    return [
      tool({ name: "hello", scopes: ["read"], run: () => "hello" }),
      endless("wait"),
      endless("work", "required"),
      tool({
        name: "nap",
        scopes: ["read"],
        task: { durable: true },
        run: async (_, { sleep, step }) => {
          await sleep("nap", HOUR);
          await step("woken", () => void this.woken.add("nap"));
          return "woken";
        },
      }),
    ];
  }
}

/** Everything of a person and of a machine that is open on a server. */
class Things implements AsyncDisposable {
  readonly #woken = new Set<string>();
  readonly work = new Work(this.#woken);
  readonly #servers: OAuthServer[] = [];
  hasStreamEnded = false;
  client!: Client;
  #browser!: Browser;
  #refreshToken!: string;
  #person!: HeadersOf;
  #personal!: HeadersOf;
  #machine!: HeadersOf;
  #session!: HeadersOf;

  constructor(readonly change: Change, readonly time: FakeTime) {}

  /** The server that answers now. */
  get server(): OAuthServer {
    return this.#servers.at(-1)!;
  }

  async open(): Promise<void> {
    const { from, person, age = 0 } = this.change;
    const server = await startOAuthServer({
      tools: this.work.tools(),
      provider: Object.assign(new FakeProvider(), person),
      environment: { ...SETTINGS, ...from },
    });
    this.#servers.push(server);
    this.client = await Client.register(server);
    let tokens = await this.client.connect();
    const maker = await AccountVisitor.signIn(server);
    const fields = { days: "90", "scope.read": "on" };
    this.#personal = bearer(await maker.makeToken(fields));
    this.time.tick(age);
    if (age > 0) {
      ({ body: tokens } = await this.client.refresh(tokens.refresh_token));
    }
    this.#refreshToken = tokens.refresh_token;
    this.#person = bearer(tokens.access_token);
    this.#browser = (await AccountVisitor.signIn(server)).browser;
    const issued = await server.form("/token", {
      client_id: MACHINE.client_id,
      client_secret: SECRET,
      grant_type: "client_credentials",
    });
    this.#machine = bearer((await issued.json()).access_token);
    await this.#begin();
  }

  /** Begins what runs in the process. */
  async #begin(): Promise<void> {
    const { server } = this;
    const headers = this.#person;
    const { id: sessionId } = await server.openSession({ headers });
    this.#session = { ...headers, "mcp-session-id": sessionId };
    server.post(
      rpc("tools/call", { name: "wait", arguments: {} }),
      this.#session,
    ).then((response) => response.body?.cancel(), () => {});
    const stream = await server.call("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    }, { headers });
    assert(isStream(stream));
    Array.fromAsync(new Events(stream)).catch(() => {})
      .then(() => this.hasStreamEnded = true);
    for (const name of ["nap", "work"]) {
      await resultOf(
        server.call("tools/call", { name, arguments: {} }, {
          headers,
          capabilities: CAPABILITIES,
        }),
      );
    }
    await until(async () => this.work.begun.size === 2 && await this.#sleeps());
  }

  /** Tells if the durable work is in no process. */
  async #sleeps(): Promise<boolean> {
    const runs = this.server.kv.list<{ isParked: boolean }>({
      prefix: ["task-run"],
    });
    return (await Array.fromAsync(runs)).every(({ value }) => value.isParked);
  }

  /** Refreshes with one token at two processes. */
  async refreshTwice(): Promise<void> {
    const { server: { kv, provider }, change: { from } } = this;
    await using other = await startOAuthServer({
      kv,
      provider,
      tools: new Work(this.#woken).tools(),
      environment: { ...SETTINGS, ...from },
    });
    const { client } = this;
    const elsewhere = new Client(other, client.clientId);
    const answers = await Promise.all(
      [client, elsewhere].map((it) => it.refresh(this.#refreshToken)),
    );
    for (const { status } of answers) assert.equal(status, 200);
  }

  /** Starts another server on the database, and stops this one. */
  async restart(to: Settings): Promise<void> {
    const { server: old, change: { from, baseUrl } } = this;
    const { kv, provider } = old;
    const server = await startOAuthServer({
      kv,
      provider,
      tools: new Work(this.#woken).tools(),
      environment: { ...SETTINGS, ...from, ...to },
      baseUrl,
    });
    if (baseUrl) {
      server.fetch = async (path, init) =>
        await server.app.fetch(new Request(baseUrl + path, init));
    }
    this.#servers.push(server);
    old.app.stop();
    await old.app.close();
  }

  /** Tells if something is open. */
  async isOpen(column: Column): Promise<boolean> {
    switch (column) {
      case "call":
        return !this.work.ended.has("wait");
      case "task":
        return !this.work.ended.has("work");
      case "sleeping work":
        this.time.tick(2 * HOUR);
        await this.server.app.wake();
        return this.#woken.has("nap");
      case "stream":
        return !this.hasStreamEnded;
      case "session":
        return await this.#isFine(
          this.server.post(rpc("ping", {}), this.#session),
        );
      case "refresh":
        this.client.server = this.server;
        return (await this.client.refresh(this.#refreshToken)).status === 200;
      case "personal token":
        return await this.#mayCall(this.#personal);
      case "machine":
        return await this.#mayCall(this.#machine);
      case "account page": {
        const cookies = [...this.#browser.cookies]
          .map(([key, value]) => `${key.split(" ")[1]}=${value}`);
        const response = await this.server.fetch("/account", {
          headers: { cookie: cookies.join("; "), accept: "text/html" },
        });
        return (await response.text()).includes("/account/sign-out");
      }
    }
  }

  #mayCall(headers: HeadersOf): Promise<boolean> {
    const hello = { name: "hello", arguments: {} };
    return this.#isFine(this.server.call("tools/call", hello, { headers }));
  }

  async #isFine(answering: Promise<Response>): Promise<boolean> {
    const response = await answering;
    await response.body?.cancel();
    return response.status === 200;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers.toReversed()) {
      await server[Symbol.asyncDispose]();
    }
  }
}

function bearer(token: string): HeadersOf {
  return { authorization: `Bearer ${token}` };
}

/** The columns that end when their process hears of it, by no test's clock. */
const HEARS: readonly Column[] = ["call", "stream", "task"];

for (const [name, change] of Object.entries(CHANGES)) {
  Deno.test(`${name}: everything that is open obeys in its time`, async () => {
    using time = new FakeTime();
    await using things = new Things(change, time);
    await things.open();
    const columns = COLUMNS.filter((column) =>
      column !== "refresh" && column !== "sleeping work"
    );
    const { cells } = change;
    async function expect(closed: readonly Cell[]): Promise<void> {
      for (const column of columns) {
        const isOpen = !closed.includes(cells[column]);
        if (!isOpen && HEARS.includes(column)) {
          await until(async () => !await things.isOpen(column));
        }
        assert.equal(await things.isOpen(column), isOpen, column);
      }
    }
    await expect([]);
    const to = await change.happen?.(things) ?? change.to;
    if (to) await things.restart(to);
    time.tick(1);
    await expect(["1 s", "restart"]);
    assert.equal(await things.isOpen("refresh"), cells.refresh === "goes on");
    time.tick(1);
    await expect(["1 s", "restart", "refresh"]);
    // Once its time has come.
    const goesOn = cells["sleeping work"] === "goes on";
    assert.equal(await things.isOpen("sleeping work"), goesOn);
  });
}

Deno.test("docs/people.md has the table of these changes", async () => {
  const text = await Deno.readTextFile(
    new URL("../../docs/people.md", import.meta.url),
  );
  const table = text.split("## When a change counts")[1].split("\n#")[0]
    .split("\n").filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  assert.deepEqual(
    table.slice(2),
    Object.entries(CHANGES).map(([name, { cells }]) => {
      const kinds = new Set(COLUMNS.map((column) => cells[column]));
      kinds.delete("goes on");
      const stays = COLUMNS.filter((column) => cells[column] === "goes on");
      const all = stays.length === COLUMNS.length && "everything";
      return [
        name,
        [...kinds].join(", ") || "never",
        all || stays.join(", ") || "nothing",
      ];
    }),
  );
});
