import assert from "node:assert/strict";
import timers from "node:timers";
import { NotificationConnection } from "../../packages/postgres/driver.ts";
import { Listener } from "../../packages/postgres/listener.ts";
import { settled } from "../kit/wait.ts";

interface Timer {
  milliseconds: number;
  run: () => void;
  isUnref: boolean;
  unref(): void;
}

/** Timers that fire when a test says so. */
class PlannedTimers implements Disposable {
  readonly #real = { ...timers };
  readonly #planned = new Set<Timer>();

  constructor() {
    Object.assign(timers, {
      setTimeout: (run: () => void, milliseconds: number) => {
        const unref = () => {
          timer.isUnref = true;
        };
        const timer: Timer = { milliseconds, run, isUnref: false, unref };
        this.#planned.add(timer);
        return timer;
      },
      clearTimeout: (timer: Timer) => this.#planned.delete(timer),
    });
  }

  /** Lists the lengths of those that are planned; none keeps a process alive. */
  get milliseconds(): number[] {
    const planned = [...this.#planned];
    assert(planned.every(({ isUnref }) => isUnref));
    return planned.map(({ milliseconds }) => milliseconds);
  }

  /** Fires the newest. */
  async fire(): Promise<void> {
    const timer = [...this.#planned].at(-1)!;
    this.#planned.delete(timer);
    timer.run();
    await settled();
  }

  [Symbol.dispose](): void {
    Object.assign(timers, this.#real);
  }
}

/** A connection without a server. */
class FakeConnection extends NotificationConnection {
  readonly done: string[] = [];
  isPooled = false;
  isAway = false;

  constructor() {
    super({} as never, "kv");
  }

  override listen(text = ""): Promise<void> {
    if (this.isAway) return Promise.reject(new Error("away"));
    this.done.push(`listen ${text}`);
    return Promise.resolve();
  }

  override settle(text: string): Promise<void> {
    this.done.push(`settle ${text}`);
    return Promise.resolve();
  }

  override isDirect(): Promise<boolean> {
    return Promise.resolve(!this.isPooled);
  }

  override close(): Promise<void> {
    this.done.push("close");
    return Promise.resolve();
  }
}

/** A listener and all it does. */
class Setting implements Disposable {
  readonly timers = new PlannedTimers();
  readonly connection = new FakeConnection();
  readonly listener = new Listener(this.connection, "presence");
  readonly changes: string[] = [];
  backs = 0;
  echo = "";
  /** Carries a notification to the server. */
  announce: () => Promise<void> = () => Promise.resolve();

  constructor() {
    this.listener.onChange = (hash) => this.changes.push(hash);
    this.listener.onBack = () => this.backs++;
  }

  start(): Promise<void> {
    return this.listener.start((payload) => {
      this.echo = payload;
      return this.announce();
    });
  }

  /** Delivers the test notification. */
  async answer(): Promise<void> {
    this.connection.onHeard(this.echo);
    await settled();
  }

  async started(): Promise<this> {
    const starting = this.start();
    await settled();
    await this.answer();
    assert(this.listener.hears);
    await starting;
    this.connection.done.length = 0;
    return this;
  }

  [Symbol.dispose](): void {
    this.timers[Symbol.dispose]();
  }
}

Deno.test("start() hears its own notification before it says that this process uses the database", async () => {
  using setting = new Setting();
  const { connection, listener, timers } = setting;
  const starting = setting.start();
  await settled();
  connection.onHeard("echo of another");
  connection.onHeard("1");
  await settled();
  assert.equal(listener.hears, false);
  assert.deepEqual(connection.done, ["listen "]);
  assert.deepEqual(timers.milliseconds, [5000]);
  await setting.answer();
  assert.equal(listener.hears, true);
  assert.deepEqual(connection.done, ["listen ", "settle presence"]);
  assert.deepEqual(setting.changes, ["1"]);
  assert.deepEqual(timers.milliseconds, [10_000]);
  await starting;
});

Deno.test("start() waits a second behind a pooler, and closes a connection that hears nothing", async () => {
  using setting = new Setting();
  const { connection, listener, timers } = setting;
  connection.isPooled = true;
  const starting = setting.start();
  await settled();
  assert.deepEqual(timers.milliseconds, [1000]);
  await timers.fire();
  assert.equal(listener.hears, false);
  assert.deepEqual(connection.done, ["listen ", "close"]);
  assert.deepEqual(timers.milliseconds, []);
  await starting;
});

Deno.test("a lost connection is opened again after pauses that grow to 5 s", async () => {
  using setting = await new Setting().started();
  const { connection, timers } = setting;
  for (let times = 0; times < 2; times++) {
    connection.isAway = true;
    connection.onEnd();
    const pauses: number[] = [];
    for (let tries = 0; tries < 8; tries++) {
      pauses.push(...timers.milliseconds);
      await timers.fire();
    }
    assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    assert.equal(setting.backs, times);
    connection.isAway = false;
    await timers.fire();
    assert.equal(setting.backs, times + 1);
    assert.equal(connection.done.at(-1), "listen presence");
    assert.deepEqual(timers.milliseconds, [10_000]);
  }
});

Deno.test("a check opens another connection only if its notification is sent and not heard", async () => {
  using setting = await new Setting().started();
  const { connection, timers } = setting;
  await timers.fire();
  assert.deepEqual(timers.milliseconds, [5000]);
  await setting.answer();
  assert.deepEqual(timers.milliseconds, [10_000]);

  setting.announce = () => Promise.reject(new Error("away"));
  await timers.fire();
  assert.deepEqual(timers.milliseconds, [10_000]);

  setting.announce = () => Promise.resolve();
  await timers.fire();
  await timers.fire();
  assert.deepEqual(timers.milliseconds, [100]);
  assert.deepEqual(connection.done, []);
  await timers.fire();
  assert.deepEqual(connection.done, ["listen presence"]);
});

Deno.test("a check that ends after its connection was lost changes nothing", async () => {
  using setting = await new Setting().started();
  const { connection, timers } = setting;
  const sending = Promise.withResolvers<void>();
  setting.announce = () => sending.promise;
  await timers.fire();
  connection.onEnd();
  sending.reject(new Error("away"));
  await settled();
  assert.deepEqual(timers.milliseconds, [100]);
});

Deno.test("a check gives up an earlier one, whose connection was lost", async () => {
  using setting = await new Setting().started();
  const { connection, timers } = setting;
  await timers.fire();
  connection.onEnd();
  assert.deepEqual(timers.milliseconds, [5000, 100]);
  await timers.fire();
  assert.deepEqual(timers.milliseconds, [5000, 10_000]);
  await timers.fire();
  assert.deepEqual(timers.milliseconds, [5000]);
  await setting.answer();
  assert.deepEqual(timers.milliseconds, [10_000]);
});

Deno.test("close() ends a start that waits for its notification", async () => {
  using setting = new Setting();
  const { connection, listener, timers } = setting;
  const starting = setting.start();
  await settled();
  await listener.close();
  await settled();
  assert.equal(listener.hears, false);
  assert(!connection.done.includes("settle presence"));
  assert.deepEqual(timers.milliseconds, []);
  await starting;
});

Deno.test("close() drops what is planned, and plans nothing more", async () => {
  using setting = await new Setting().started();
  const { connection, listener, timers } = setting;
  await listener.close();
  assert.deepEqual(connection.done, ["close"]);
  assert.deepEqual(timers.milliseconds, []);
  connection.onEnd();
  assert.deepEqual(timers.milliseconds, []);
});
