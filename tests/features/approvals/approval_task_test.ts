/** Approvals of calls and plain tasks whose process dies or stops. */
import assert from "node:assert/strict";
import { type Context, tool, z } from "../../../src/mod.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import type { HeadersOf, Json } from "../../kit/message.ts";
import { MortalServer } from "../../kit/mortal_server.ts";
import { BASE_URL, type Sender } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { FORMS, linkOf, open, OPENS, press } from "./approving.ts";

const environment = {
  BASE_URL,
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "github",
  OAUTH_CLIENT_ID: "our-client",
  OAUTH_CLIENT_SECRET: "our-secret",
};

const LINK = /http:[\w.:/]*\/approve\/[\w-]{43}/;

/** The timers of a dead process stay. */
const LEAVES = { sanitizeOps: false, sanitizeResources: false };

let begun = 0;
let showing = Promise.withResolvers<void>();
let shown = Promise.withResolvers<never>();

const HANG = {
  input: z.object({ id: z.string() }),
  approval: { expiresIn: 600 },
  run(_input: { id: string }, { signal }: Context) {
    begun++;
    return new Promise<string>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  },
};

const tools = [
  tool({ name: "hang", task: "required", ...HANG }),
  tool({ name: "slow", handOver: 45, ...HANG }),
  tool({
    ...HANG,
    name: "shows",
    approval: { show: () => (showing.resolve(), shown.promise) },
  }),
  tool({ name: "either", task: "optional", ...HANG }),
  tool({
    ...HANG,
    name: "trusted",
    task: "optional",
    approval: {
      expiresIn: 600,
      remember: () => ({ key: "k", label: "all", seconds: 3600 }),
    },
  }),
];

const capabilities = { ...FORMS, ...TASKS };

/** A client of one person, at any process. */
class Client {
  constructor(private readonly headers: HeadersOf) {}

  static async of(server: OAuthServer): Promise<Client> {
    return new Client((await server.person()).headers);
  }

  ask(
    at: Sender,
    method: string,
    params: Json,
    able: Json = capabilities,
  ): Promise<Json> {
    const { headers } = this;
    return resultOf(at.call(method, params, { headers, capabilities: able }));
  }

  /** Begins a task, and waits until it has a link or has ended. */
  async begin(
    at: Sender,
    name = "hang",
  ): Promise<{ task: Json; link: string }> {
    const params = { name, arguments: { id: "a" } };
    const { taskId } = await this.ask(at, "tools/call", params);
    let task: Json = {};
    let link: string | undefined;
    await until(async () => {
      task = await this.read(at, taskId);
      link = JSON.stringify(task).match(LINK)?.[0];
      return link !== undefined || task.status !== "working";
    });
    return { task, link: link! };
  }

  read = (at: Sender, taskId: string) => this.ask(at, "tasks/get", { taskId });
}

/** Lets the lease of a dead task lapse, and reads how it ended. */
async function endOf(
  client: Client,
  at: Sender,
  time: FakeTime,
  taskId: string,
): Promise<Json> {
  let task: Json = {};
  await until(async () => {
    task = await client.read(at, taskId);
    if (task.status !== "working") return true;
    time.tick(16);
    return false;
  });
  return task;
}

interface Scene {
  time: FakeTime;
  server: OAuthServer;
  client: Client;
  /** The process of the task, which `kill()` ends. */
  dying: MortalServer;
  /** A task at that process, which waits for approval. */
  task: Json;
  link: string;
}

function testDeath(name: string, body: (scene: Scene) => Promise<void>): void {
  Deno.test(name, LEAVES, async () => {
    using time = new FakeTime();
    begun = 0;
    await using kv = await openTestKv();
    await using server = await startOAuthServer({ kv, tools, environment });
    const client = await Client.of(server);
    await using dying = new MortalServer(kv, { tools, env: environment });
    const asked = await client.begin(dying);
    await body({ time, server, client, dying, ...asked });
  });
}

testDeath(
  "a plain task whose process dies in its approved run is not run again before its person has looked",
  async ({ time, server, client, dying, task, link }) => {
    await press(await open(server, link), "approve");
    await until(() => begun === 1);
    dying.kill();
    const { status, error } = await endOf(client, server, time, task.taskId);
    assert.equal(status, "failed");
    assert.match(error.message, /process .* stopped\. .* may have been done/);
    assert(error.message.includes(link));

    const again = await client.begin(server);
    assert.equal(again.task.status, "completed");
    const { isError, content: [{ text }] } = again.task.result;
    assert.equal(isError, true);
    assert.match(text, /its end is not known/);
    assert.equal(again.link, link);

    await press(await open(server, link), "looked");
    const third = await client.begin(server);
    assert.notEqual(third.link, link);
    const page = await open(server, third.link);
    assert.match(page.page.text, /The same was approved before.*have looked/s);
    assert.equal(begun, 1);
    await client.ask(server, "tasks/cancel", { taskId: third.task.taskId });
  },
);

testDeath(
  "the page of a plain task whose process is dead does not say that the task goes on",
  async ({ time, server, client, dying, task, link }) => {
    dying.kill();
    const visitor = await open(server, link);
    await press(visitor, "approve");
    const said = async () => (await visitor.browser.open(link)).text;
    assert.match(
      await said(),
      /nothing was run so far.*or its process has just ended/,
    );
    time.tick(31);
    assert.match(await said(), /process of the task does not answer/);
    await endOf(client, server, time, task.taskId);
    assert.match(await said(), /its task has ended before it began/);
    assert.equal(begun, 0);
  },
);

testDeath(
  "a call that waits already does not run without a press while the end of its run is not known",
  async ({ server, client, dying }) => {
    const call = (id: string) => {
      const params = { name: "trusted", arguments: { id } };
      return client.ask(server, "tools/call", params, FORMS);
    };
    const approve = async (link: string, remember: string) => {
      const { pathname } = new URL(link);
      const answer = { answer: "approve", remember };
      await (await open(server, link)).press(pathname, answer);
    };
    linkOf(await call("a"));
    const { link } = await client.begin(dying, "trusted");
    await approve(link, "");
    await until(() => begun === 1);
    dying.kill();
    await approve(linkOf(await call("b")), "on");
    assert.match(JSON.stringify(await call("a")), /its end is not known/);
    assert.equal(begun, 1);
  },
);

testDeath(
  "an approval that is there already begins no run of a call whose end is not known",
  async ({ time, server, client, dying }) => {
    const params = { name: "either", arguments: { id: "a" } };
    const call = () => client.ask(server, "tools/call", params, FORMS);
    const first = await client.begin(dying, "either");
    const second = await client.begin(server, "either");
    const ofCall = linkOf(await call());
    await press(await open(server, first.link), "approve");
    await until(() => begun === 1);
    dying.kill();
    for (const link of [second.link, ofCall]) {
      const page = await open(server, link);
      assert.match(page.words, /begun .*Its end is not known yet/);
      assert.doesNotMatch(page.words, /Nothing has been done/);
      await press(page, "approve");
    }
    const isTold = (told: Json) => {
      const text = JSON.stringify(told);
      return /its end is not known/.test(text) && text.includes(first.link);
    };
    assert(isTold(await call()));
    const { taskId } = second.task;
    // Its process lives, and needs time to renew the lease of the task.
    await until(async () => {
      time.tick(0.1);
      return isTold(await client.read(server, taskId));
    });
    assert.equal(begun, 1);

    await press(await open(server, first.link), "looked");
    const running = call();
    await until(() => begun === 2);
    await server[Symbol.asyncDispose]();
    await running;
  },
);

for (const how of ["dies", "stops"] as const) {
  testDeath(
    `a call that has become a task gives the link when its process ${how}`,
    async ({ time, server, client, dying }) => {
      const params = { name: "slow", arguments: { id: "b" } };
      const call = () => client.ask(dying, "tools/call", params);
      const link = linkOf(await call());
      await press(await open(server, link), "approve");
      const handed = call();
      await until(() => begun === 1);
      time.tick(45);
      const { taskId } = await handed;
      if (how === "dies") dying.kill();
      else await dying[Symbol.asyncDispose]();
      const { status, error } = await endOf(client, server, time, taskId);
      assert.equal(status, "failed");
      assert(error.message.includes(link), error.message);
    },
  );
}

for (const name of ["slow", "hang"]) {
  for (const why of ["the server stops", "its connection is paused"]) {
    testDeath(
      `the end of an approved run of ${name} is not known if ${why}`,
      async ({ time, server, client, dying, task, link: hangs }) => {
        const isCall = name === "slow";
        const params = { name, arguments: { id: "a" } };
        const call = (at: Sender) => client.ask(at, "tools/call", params);
        const link = isCall ? linkOf(await call(dying)) : hangs;
        const visitor = await open(server, link);
        await press(visitor, "approve");
        const running = isCall ? call(dying) : undefined;
        await until(() => begun === 1);
        const isPaused = why !== "the server stops";
        await visitor.look();
        if (isPaused) await visitor.press("/account/pause");
        else await dying[Symbol.asyncDispose]();
        // Past what is remembered for a second, and not so long that an
        // operation under way seems to stall.
        time.tick(2);
        await until(() => dying.running === 0);
        if (isPaused) await visitor.press("/account/resume");
        const told = JSON.stringify(
          await (running ?? endOf(client, server, time, task.taskId)),
        );
        // A paused connection gets no result of a call.
        if (!isPaused || !isCall) {
          assert(told.includes(link) && /may have been done/.test(told), told);
        }
        visitor.page = await visitor.browser.open(link);
        assert.match(visitor.words, /begun, and its end is not known/);
        await visitor.look("/calls");
        assert.match(visitor.words, /End not known/);
        const again = isCall
          ? await call(server)
          : (await client.begin(server)).task;
        assert.match(JSON.stringify(again), /its end is not known/);
        assert.equal(begun, 1);
      },
    );
  }
}

testDeath(
  "a call that waits for its approval gives the link as the server stops",
  async ({ server, dying }) => {
    const { headers } = await server.person();
    const session = await dying.openSession({ headers, capabilities: OPENS });
    const params = { name: "slow", arguments: { id: "d" } };
    const events = new Events(await session.request("tools/call", params));
    const { params: { url } } = await events.read();
    await dying[Symbol.asyncDispose]();
    assert.equal((await events.read()).method, "notifications/cancelled");
    const { content: [{ text }] } = (await events.read()).result;
    assert(text.startsWith("The server stops. This was not run"), text);
    assert(text.includes(url), text);
    assert.match((await open(server, url)).words, /Nothing has been done yet/);
    assert.equal(begun, 0);
  },
);

testDeath(
  "a call that ends before its approval is open says that it was not run as the server stops",
  async ({ client, dying }) => {
    showing = Promise.withResolvers();
    shown = Promise.withResolvers();
    const params = { name: "shows", arguments: { id: "e" } };
    const call = client.ask(dying, "tools/call", params);
    await showing.promise;
    const stopped = dying[Symbol.asyncDispose]();
    shown.reject(new Error("The service is away"));
    const { content: [{ text }] } = await call;
    await stopped;
    assert.equal(
      text,
      "The server stops. This was not run. Call it again with the same arguments.",
    );
  },
);
