import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
// deno-lint-ignore no-import-prefix -- the driver's classes are replaced here
import driver from "npm:pg@^8.16.0";
import { parseDatabaseUrl } from "../../packages/postgres/address.ts";
import { connectionOptions } from "../../packages/postgres/connection_options.ts";
import {
  Connections,
  NotificationConnection,
} from "../../packages/postgres/driver.ts";

/** A connection of the driver's without a server. */
class FakeClient extends EventEmitter {
  readonly done: string[] = [];
  readonly connecting = Promise.withResolvers<void>();
  processID = 0;
  command = "SELECT";
  rows: { id: number }[] = [];

  connect(): Promise<void> {
    return this.connecting.promise;
  }

  query(text: string): Promise<Pick<FakeClient, "command" | "rows">> {
    this.done.push(text);
    return Promise.resolve(this);
  }

  unref(): void {
    this.done.push("unref");
  }

  end(): Promise<void> {
    this.done.push("end");
    return Promise.resolve();
  }
}

/** A connection that listens, and each that it has opened. */
class Setting implements Disposable {
  readonly #real = driver.Client;
  readonly clients: FakeClient[] = [];
  readonly connection = new NotificationConnection({} as never, "kv");
  ends = 0;
  readonly heard: string[] = [];

  constructor() {
    const { clients } = this;
    driver.Client = class extends FakeClient {
      constructor() {
        super();
        clients.push(this);
      }
    };
    this.connection.onEnd = () => this.ends++;
    this.connection.onHeard = (payload) => this.heard.push(payload);
  }

  /** Opens the next connection. */
  async listen(text?: string): Promise<FakeClient> {
    const listening = this.connection.listen(text);
    const client = this.clients.at(-1)!;
    client.connecting.resolve();
    await listening;
    return client;
  }

  [Symbol.dispose](): void {
    driver.Client = this.#real;
  }
}

Deno.test("listen() keeps the process alive until it has run the statement it was given, and not after it", async () => {
  using setting = new Setting();
  const first = await setting.listen();
  const second = await setting.listen("select 1");
  assert.deepEqual(first.done, ['LISTEN "kv"', "end"]);
  assert.deepEqual(second.done, ['LISTEN "kv"', "select 1", "unref"]);
});

Deno.test("onEnd is called once when a connection that listens is lost", async () => {
  using setting = new Setting();
  const first = await setting.listen();
  assert.equal(setting.ends, 0);
  for (const event of ["error", "end"]) {
    first.emit(event);
    assert.equal(setting.ends, 1);
  }
  await setting.listen();
  first.emit("end");
  assert.equal(setting.ends, 1);
});

Deno.test("onEnd is not called for a connection that was replaced or closed", async () => {
  using setting = new Setting();
  const first = await setting.listen();
  const second = await setting.listen();
  first.emit("end");
  await setting.connection.close();
  second.emit("end");
  assert.equal(setting.ends, 0);
});

Deno.test("listen() fails if the connection is lost before it listens, and onEnd is not called", async () => {
  using setting = new Setting();
  const listening = setting.connection.listen();
  const [client] = setting.clients;
  client.emit("end");
  client.connecting.resolve();
  await assert.rejects(listening, /terminated/);
  assert.equal(setting.ends, 0);
  assert.deepEqual(client.done, ['LISTEN "kv"', "end"]);
});

Deno.test("notifications of a connection that was replaced are not heard", async () => {
  using setting = new Setting();
  const first = await setting.listen();
  first.emit("notification", { payload: "1" });
  const second = await setting.listen();
  first.emit("notification", { payload: "2" });
  second.emit("notification", { payload: "3" });
  second.emit("notification", {});
  assert.deepEqual(setting.heard, ["1", "3", ""]);
});

Deno.test("listen() that fails late leaves the connection that has replaced its own", async () => {
  using setting = new Setting();
  const late = setting.connection.listen();
  const [client] = setting.clients;
  const next = await setting.listen();
  client.connecting.reject(new Error("away"));
  await assert.rejects(late, /away/);
  assert.deepEqual(next.done, ['LISTEN "kv"']);
  next.emit("notification", { payload: "1" });
  assert.deepEqual(setting.heard, ["1"]);
});

Deno.test("settle() runs its statement on the connection, which then keeps no process alive", async () => {
  using setting = new Setting();
  const client = await setting.listen();
  await setting.connection.settle("select 1");
  assert.deepEqual(client.done, ['LISTEN "kv"', "select 1", "unref"]);
});

Deno.test("isDirect() is true if Postgres reports the process that the connection was told of, and takes no answer of another statement", async () => {
  using setting = new Setting();
  const client = await setting.listen();
  client.rows = [{ id: 7 }];
  for (const processID of [7, 8]) {
    client.processID = processID;
    assert.equal(await setting.connection.isDirect(), processID === 7);
  }
  Object.assign(client, { command: "SET", rows: [] });
  await assert.rejects(setting.connection.isDirect(), {
    message: /answer of another statement \(SET\)/,
    isTransient: true,
  });
});

/** A connection of a pool. */
class FakePoolClient extends EventEmitter {
  readonly released: unknown[] = [];
  answer: () => unknown = () => ({ command: "SELECT", rows: [{ id: 1 }] });

  query(): unknown {
    return this.answer();
  }

  release(error?: unknown): void {
    this.released.push(error);
  }
}

/** A pool whose first connection does every statement. */
class Pool extends EventEmitter {
  readonly clients = [new FakePoolClient(), new FakePoolClient()];

  constructor(readonly options: Record<string, unknown>) {
    super();
  }

  connect(): Promise<FakePoolClient> {
    for (const client of this.clients) this.emit("connect", client);
    return Promise.resolve(this.clients[0]);
  }
}

/** Makes connections whose pool is not the driver's. */
function connectionsOf(
  options: object = {},
): { pool: Pool; connections: Connections } {
  const real = driver.Pool;
  let pool: Pool;
  driver.Pool = class extends Pool {
    constructor(given: Record<string, unknown>) {
      super(given);
      pool = this;
    }
  };
  try {
    const connections = new Connections(
      options as never,
      { max: 3 },
      () => true,
    );
    return { pool: pool!, connections };
  } finally {
    driver.Pool = real;
  }
}

const STATEMENT = { name: "one", text: "select 1", values: [] };

Deno.test("query() gives its connection back, and one that failed to be closed", async () => {
  const { pool, connections } = connectionsOf();
  const [client] = pool.clients;
  assert.deepEqual(await connections.query(STATEMENT), [{ id: 1 }]);
  assert.deepEqual(client.released, [undefined]);
  client.answer = () => ({ command: "SET", rows: [] });
  const answerOfAnother = await connections.query(STATEMENT).catch((it) => it);
  assert.match(answerOfAnother.message, /another statement \(SET\)/);
  assert.equal(answerOfAnother.isTransient, true);
  assert.deepEqual(client.released, [undefined, answerOfAnother]);
  // While a statement runs, an error of its connection is the statement's.
  client.answer = () => {
    client.emit("error", new Error("lost"));
    throw new Error("cut");
  };
  await assert.rejects(connections.query(STATEMENT), /cut/);
  assert.equal(client.listenerCount("error"), 0);
  // The loss of an idle connection ends no process.
  pool.emit("error", new Error("cut"));
});

Deno.test("a statement without a response closes the connections that the pool still has, and no other failure does", async () => {
  const { pool, connections } = connectionsOf();
  const [client, idle] = pool.clients;
  const removed = new FakePoolClient();
  const failures: Record<string, unknown>[] = [];
  for (const one of [idle, removed]) {
    one.on(
      "error",
      ({ message }) => failures.push({ message, isIdle: one === idle }),
    );
  }
  pool.emit("connect", removed);
  pool.emit("remove", removed);
  for (
    const failure of [
      new Error("cut"),
      new Error("no Query read timeout"),
      { message: "Query read timeout" },
      new Error("Query read timeout"),
    ]
  ) {
    client.answer = () => {
      throw failure;
    };
    await assert.rejects(connections.query(STATEMENT));
  }
  assert.deepEqual(failures, [{ message: "Query read timeout", isIdle: true }]);
});

Deno.test("a statement without a response is given up after Postgres has ended it, within the six seconds of docs/postgres.md", async () => {
  const options = await connectionOptions(
    parseDatabaseUrl("postgres://ada@127.0.0.1/tools"),
    { hasTimeout: true },
  );
  const given = connectionsOf(options).pool.options;
  assert(given.query_timeout as number > options.statement_timeout!);
  assert(given.query_timeout as number <= 6000);
  assert.equal(given.max, 3);
  // Idle connections keep no process alive.
  assert.equal(given.allowExitOnIdle, true);
});
