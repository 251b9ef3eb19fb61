import assert from "node:assert/strict";
import { resource } from "../../../src/authoring/resource.ts";
import type { Answer, Result } from "../../../src/core/mcp/exchange/answer.ts";
import type { EngineCall } from "../../../src/core/mcp/methods/method_engine.ts";
import {
  listen,
  notificationOf,
  parseFilter,
  type SubscriptionFilter,
} from "../../../src/core/mcp/methods/subscription.ts";
import {
  followedTasks,
  followTask,
} from "../../../src/features/work/task_following.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";
import type { Change } from "../../../src/core/store/changes.ts";
import {
  type Task,
  type TaskStore,
  taskStore,
} from "../../../src/features/work/tasks.ts";
import { refuses } from "../../kit/refuses.ts";
import { settled, until } from "../../kit/wait.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { taskKey, taskLeaseKey } from "../../../src/core/kv/keys.ts";
import type { TaskStatus } from "../../../src/features/work/task_record.ts";
import { LEASE_SECONDS } from "../../../src/core/kv/leases.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const ALL = { tools: {}, prompts: {}, resources: {} };
const ID = "io.modelcontextprotocol/subscriptionId";

Deno.test("parseFilter() honours what is wanted and offered", () => {
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: false,
    resourcesListChanged: true,
    resourceSubscriptions: ["a://b"],
    surpriseMe: true,
  };
  assert.deepEqual(parseFilter({ notifications }, ALL), {
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: new Set(["a://b"]),
  });
  assert.deepEqual(parseFilter({ notifications }, { tools: {} }), {
    toolsListChanged: true,
  });
  assert.deepEqual(parseFilter({ notifications: {} }, ALL), {});
  const promptsListChanged = { promptsListChanged: true };
  assert.deepEqual(
    parseFilter({ notifications: promptsListChanged }, ALL),
    promptsListChanged,
  );
  const resourceSubscriptions = Array(1000).fill("a://b");
  assert.ok(parseFilter({ notifications: { resourceSubscriptions } }, ALL));
});

const BROKEN: Record<string, unknown> = {
  "no filter": undefined,
  "a filter that is no object": [],
  "a filter that is no boolean": { toolsListChanged: "yes" },
  "subscriptions that are no list": { resourceSubscriptions: "a://b" },
  "a subscription that is no URI": { resourceSubscriptions: [1] },
  "more than a thousand subscriptions": {
    resourceSubscriptions: Array(1001).fill("a://b"),
  },
};

for (const [what, notifications] of Object.entries(BROKEN)) {
  Deno.test(`parseFilter() refuses ${what}`, () => {
    refuses(() => parseFilter({ notifications }, ALL), -32602);
  });
}

Deno.test("notificationOf() stamps every notification with its subscription", () => {
  const _meta = { [ID]: "s" };
  const filter: SubscriptionFilter = {
    promptsListChanged: true,
    resourceSubscriptions: new Set(["a://b"]),
  };
  assert.deepEqual(
    JSON.parse(notificationOf({ kind: "list", list: "prompts" }, filter, "s")!),
    {
      jsonrpc: "2.0",
      method: "notifications/prompts/list_changed",
      params: { _meta },
    },
  );
  assert.deepEqual(
    JSON.parse(
      notificationOf({ kind: "resource", uri: "a://b" }, filter, "s")!,
    ),
    {
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { _meta, uri: "a://b" },
    },
  );
});

Deno.test("notificationOf() leaves out what was not asked for", () => {
  const filter: SubscriptionFilter = {
    toolsListChanged: true,
    resourceSubscriptions: new Set(["a://b"]),
  };
  for (
    const change of [
      { kind: "list", list: "prompts" },
      { kind: "resource", uri: "a://c" },
    ] as const
  ) assert.equal(notificationOf(change, filter, 1), undefined);
  const nothing = notificationOf({ kind: "resource", uri: "a://b" }, {}, 1);
  assert.equal(nothing, undefined);
});

/** A running subscription, with its client's messages. */
class Listening {
  readonly sent: string[] = [];
  readonly open = new Set<unknown>();
  readonly log: string[] = [];
  /** Sends to the client; may be replaced to hold it up. */
  send: () => Promise<void> = () => Promise.resolve();
  change: (change: Change) => void = () => {};
  hears = false;
  tasks: Partial<TaskStore> = {};
  readonly #abort = new AbortController();

  run(notifications: JsonObject, catalogue = CATALOGUE): Promise<Answer> {
    const capabilities = {
      tools: {},
      prompts: {},
      resources: {},
      extensions: { "io.modelcontextprotocol/tasks": {} },
    };
    return listen({
      engine: {
        clock: () => 0,
        subscriptions: this.open,
        tasks: this.tasks,
        followed: [followedTasks],
        log: { warning: (text: string) => this.log.push(text) },
        changes: {
          listen: (change: Listening["change"]) => {
            this.change = change;
            this.hears = true;
            return Promise.resolve(() => void (this.hears = false));
          },
        },
      },
      catalogue,
      printedLists: { ...catalogue.stateless, capabilities },
      client: { capabilities },
      caller: { subject: "ada", binding: "ada", scopes: "all" },
      params: { notifications },
      message: { id: "s" },
      response: {
        send: (text: string) => {
          this.sent.push(text);
          return this.send();
        },
      },
      signal: this.#abort.signal,
      execution: {
        cancel: (reason: string) => {
          this.log.push(reason);
          this.end();
        },
      },
    } as unknown as EngineCall);
  }

  end(): void {
    this.#abort.abort();
  }
}

const CATALOGUE = compileCatalogue({
  resources: [
    resource({ uri: "a://open", name: "o", read: () => "" }),
    resource({ uri: "a://hidden", name: "h", scopes: ["a"], read: () => "" }),
  ],
}, { serverInfo: { name: "s", version: "1" } });

Deno.test("listen() ends for a client that left before the acknowledgement was sent", async () => {
  const listening = new Listening();
  listening.send = () => Promise.resolve(listening.end());
  assert.match((await listening.run({}) as Result).result, /"s"/);
});

Deno.test("listen() lets a client go that is more than a thousand changes behind", async () => {
  const listening = new Listening();
  const taken = Promise.withResolvers<void>();
  listening.send = () => taken.promise;
  const ended = listening.run({ toolsListChanged: true });
  await settled();
  const change = () => listening.change({ kind: "list", list: "tools" });
  for (let i = 0; i < 1000; i++) change();
  assert.deepEqual(listening.log, []);
  change();
  assert.deepEqual(listening.log, ["the client fell behind"]);
  taken.resolve();
  await ended;
});

for (const isOver of [false, true]) {
  const what = isOver ? "says nothing" : "ends, and says so,";
  Deno.test(`a subscription that ${isOver ? "has ended" : "is open"} ${what} when its task cannot be followed`, async () => {
    const listening = new Listening();
    const next = Promise.withResolvers<never>();
    const task = {
      taskId: "t",
      scopes: [],
      status: "working",
      createdMilliseconds: 0,
      updatedMilliseconds: 0,
      expiresAt: 86400,
    } as const;
    listening.tasks = {
      find: () => Promise.resolve(task),
      next: () => next.promise,
    };
    const ended = listening.run({ taskIds: ["t"] });
    await settled();
    if (isOver) listening.end();
    next.reject(new Error("away"));
    await ended;
    await settled();
    assert.deepEqual(
      listening.log,
      isOver
        ? []
        : ["A task could not be followed", "a task could not be followed"],
    );
  });
}

const never = new AbortController().signal;

Deno.test("parseFilter() takes each task once", () => {
  const parse = (taskIds: string[]) =>
    parseFilter({ notifications: { taskIds } }, ALL, [followedTasks]).followed
      ?.taskIds;
  assert.deepEqual(parse(["a", "b", "a"]), ["a", "b"]);
  assert.deepEqual(parse(Array(100).fill("a")), ["a"]);
  assert.deepEqual(parse([]), []);
});

for (const taskIds of ["a", [1], null, Array(101).fill("a")]) {
  Deno.test(`parseFilter() refuses the tasks ${JSON.stringify(taskIds).slice(0, 9)}`, () => {
    const notifications = { taskIds };
    refuses(
      () => parseFilter({ notifications }, ALL, [followedTasks]),
      -32602,
    );
  });
}

test.onDatabases("listen() follows a caller's own tasks", async ({ kv }) => {
  const database = new Database(kv);
  const tasks = taskStore(database);
  await tasks.create("mine", { binding: "ada" });
  await tasks.create("yours", { binding: "bob" });
  const listening = new Listening();
  listening.tasks = tasks;
  const ended = listening.run({ taskIds: ["yours", "mine", "x"] });
  await until(() => listening.sent.length > 0);
  const { notifications } = JSON.parse(listening.sent[0]).params;
  assert.deepEqual(notifications, { taskIds: ["mine"] });
  listening.end();
  await ended;
  // The task may just be read once more.
  await database.idle();
});

test.onDatabases("followTask() tells every state that another process makes, to the last", async ({ kv, other }) => {
  const tasks = taskStore(new Database(kv));
  const elsewhere = taskStore(new Database(other));
  const task = await elsewhere.create("t", { binding: "me" });
  const heard: TaskStatus[] = [];
  const following = followTask(
    tasks,
    "me",
    task,
    ({ status }) => heard.push(status),
    never,
  );
  const asked = elsewhere.ask(
    "t",
    "key",
    { method: "elicitation/create", params: {} },
    { signal: never },
  );
  await until(() => heard.includes("input_required"));
  await elsewhere.answer("t", { key: {} });
  await asked;
  await until(() => heard.at(-1) === "working");
  const outcome = {};
  await elsewhere.end("t", { status: "completed", outcome });
  await following;
  assert.deepEqual(heard, [
    "working",
    "input_required",
    "working",
    "completed",
  ]);
});

test.onDatabases("followTask() tells the state of a task that has ended", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  await tasks.create("t", { binding: "me" });
  await tasks.end("t", { status: "cancelled" });
  const heard: TaskStatus[] = [];
  const task = (await tasks.find("t", "me"))!;
  const hear = ({ status }: Task) => heard.push(status);
  await followTask(tasks, "me", task, hear, never);
  assert.deepEqual(heard, ["cancelled"]);
});

test.onDatabases("followTask() notices that the process of a task has died", async ({ kv }) => {
  using time = new FakeTime();
  const tasks = taskStore(new Database(kv), { lapseSeconds: 0 });
  const task = await tasks.create("t", { binding: "me" });
  const heard: TaskStatus[] = [];
  const following = followTask(
    tasks,
    "me",
    task,
    ({ status }) => heard.push(status),
    never,
  );
  await kv.delete(taskLeaseKey("t"));
  time.tick(LEASE_SECONDS);
  await following;
  assert.deepEqual(heard, ["working", "failed"]);
});

test.onDatabases("followTask() ends when a task is gone", async ({ kv, other }) => {
  const tasks = taskStore(new Database(kv));
  const task = await tasks.create("t", { binding: "me" });
  const following = followTask(tasks, "me", task, () => {}, never);
  await other.delete(taskKey("t"));
  await following;
});

test.onDatabases("followTask() ends with the signal's reason", async ({ kv }) => {
  const tasks = taskStore(new Database(kv));
  const task = await tasks.create("t", { binding: "me" });
  const abort = new AbortController();
  const following = followTask(tasks, "me", task, () => {}, abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(following, /enough/);
});
