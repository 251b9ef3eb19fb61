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

  connect(): Promise<void> {
    return this.connecting.promise;
  }

  query(text: string): Promise<{ rows: [] }> {
    this.done.push(text);
    return Promise.resolve({ rows: [] });
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

Deno.test("a statement without a response is given up after Postgres has ended it, within the six seconds of docs/postgres.md", async () => {
  const real = driver.Pool;
  using _restored = { [Symbol.dispose]: () => driver.Pool = real };
  let given: Record<string, unknown> = {};
  driver.Pool = class extends EventEmitter {
    constructor(options: typeof given) {
      super();
      given = options;
    }
  };
  const options = await connectionOptions(
    parseDatabaseUrl("postgres://ada@127.0.0.1/tools"),
    { hasTimeout: true },
  );
  new Connections(options, { max: 3 }, () => true);
  assert(given.query_timeout as number > options.statement_timeout!);
  assert(given.query_timeout as number <= 6000);
  assert.equal(given.max, 3);
  // Idle connections keep no process alive.
  assert.equal(given.allowExitOnIdle, true);
});
