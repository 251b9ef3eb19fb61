/** The limits of tools whose calls wait for an approval. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import type { Json } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import {
  clientOf,
  followTask,
  FORMS,
  linkOf,
  open,
  OPENS,
  press,
} from "./approving.ts";

/** The runs under way, with a function that ends each. */
const underWay = new Map<string, () => void>();

/** The most runs that were under way at once. */
let most = 0;

const input = z.object({ id: z.string() });

async function run({ id }: { id: string }) {
  const held = Promise.withResolvers<void>();
  underWay.set(id, held.resolve);
  most = Math.max(most, underWay.size);
  if (id.startsWith("held")) await held.promise;
  underWay.delete(id);
  return `ran ${id}`;
}

const limit = { callsAtOnce: 1, shared: true };
const pay = tool({ name: "pay", input, limit, approval: {}, run });
const long = { ...pay, name: "long", task: "required" as const };
const rare = {
  ...pay,
  name: "rare",
  limit: { callsAtOnce: 1, callsPerMinute: 2 },
};
const free = {
  ...pay,
  name: "free",
  approval: { when: ({ id }: { id: string }) => id.includes("ask") },
};
const often = {
  ...pay,
  name: "often",
  approval: { remember: () => ({ key: "k", label: "all", seconds: 600 }) },
};
const kept = { ...free, name: "kept", task: { durable: true } as const };
const seldom = {
  ...often,
  name: "seldom",
  task: { durable: true } as const,
};
const plain = { ...free, name: "plain", task: "required" as const };
const tools = [pay, long, rare, free, often, plain, kept, seldom];

/** Makes a call that waits, as a client that opens pages does. */
async function hold(server: OAuthServer, name: string, id: string) {
  const { headers } = await server.person();
  const session = await server.openSession({ headers, capabilities: OPENS });
  const events = new Events(
    await session.request("tools/call", { name, arguments: { id } }),
  );
  const { params } = await events.read();
  return {
    link: params.url as string,
    /** Makes the same call again. */
    again: () =>
      textOf(
        server.call("tools/call", { name, arguments: { id } }, {
          headers,
          capabilities: FORMS,
        }),
      ),
    async text(): Promise<string> {
      for await (const { result } of events) {
        if (result) return result.content[0].text;
      }
      throw new Error("no result");
    },
    [Symbol.asyncDispose]: () => events.close(),
  };
}

const textOf = async (response: Promise<Response>): Promise<string> =>
  (await resultOf(response)).content[0].text;

Deno.test("a call that waits for an approval leaves its tool's place to others", async () => {
  await using server = await startOAuthServer({ tools });
  server.provider.subject = "666";
  await using one = await hold(server, "pay", "a");
  await using two = await hold(server, "pay", "b");
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay", { id: "c" })));
  await press(await open(server, link), "approve");
  assert.equal(await textOf(call("pay", { id: "c" })), "ran c");
  for (const waiting of [one, two]) {
    await press(await open(server, waiting.link, "666"), "refuse");
    assert.match(await waiting.text(), /refused/);
  }
});

Deno.test("an approved call finds no place, keeps its approval, and begins by it later", async () => {
  await using server = await startOAuthServer({ tools });
  const call = await clientOf(server, "2026");
  const approved = async (link: string) => {
    const visitor = await open(server, link);
    await press(visitor, "approve");
    return visitor;
  };
  await approved(linkOf(await resultOf(call("pay", { id: "held" }))));
  await using waiting = await hold(server, "pay", "a");
  const running = textOf(call("pay", { id: "held" }));
  await until(() => underWay.has("held"));
  const visitor = await approved(waiting.link);
  assert.match(await waiting.text(), /^Too many calls to pay at a time/);
  visitor.page = await visitor.browser.open(waiting.link);
  assert.match(visitor.words, /Approved\. It begins when the app goes on/);
  underWay.get("held")!();
  assert.equal(await running, "ran held");
  assert.equal(await waiting.again(), "ran a");
  // The place of the run was given back.
  const link = linkOf(await resultOf(call("pay", { id: "b" })));
  await approved(link);
  assert.equal(await textOf(call("pay", { id: "b" })), "ran b");
});

Deno.test("an approved task begins once it finds a place", async () => {
  await using server = await startOAuthServer({ tools });
  const { headers } = await server.person();
  const options = { headers, capabilities: { ...FORMS, ...TASKS } };
  const begin = async (id: string) => {
    const task = await followTask(server, {
      headers,
      name: "long",
      input: { id },
    });
    return { ...task, link: /http\S*/.exec(task.statusMessage)![0] } as Json;
  };
  const read = ({ taskId }: Json) =>
    resultOf(server.call("tasks/get", { taskId }, options));
  const first = await begin("held");
  const second = await begin("a");
  const visitor = await open(server, first.link);
  await press(visitor, "approve");
  await until(() => underWay.has("held"));
  visitor.page = await visitor.browser.open(second.link);
  await press(visitor, "approve");
  assert.equal((await read(second)).status, "working");
  underWay.get("held")!();
  for (const [task, id] of [[first, "held"], [second, "a"]] as const) {
    let now: Json = {};
    await until(async () => (now = await read(task)).status === "completed");
    assert.equal(now.result.content[0].text, `ran ${id}`);
  }
});

for (const hasTurn of [true, false]) {
  Deno.test(`an approved task waits for its turn for twice its expiresIn, says so, and ${hasTurn ? "begins" : "then ends in words"}`, async () => {
    using time = new MovedTime();
    await using server = await startOAuthServer({ tools });
    const { headers } = await server.person();
    const options = { headers, capabilities: { ...FORMS, ...TASKS } };
    const begin = async (id: string) => {
      const asked = { headers, name: "long", input: { id } };
      const task = await followTask(server, asked);
      return { ...task, link: /http\S*/.exec(task.statusMessage)![0] } as Json;
    };
    const [first, { taskId, link }] = [await begin("held"), await begin("a")];
    const read = () => resultOf(server.call("tasks/get", { taskId }, options));
    await press(await open(server, first.link), "approve");
    await until(() => underWay.has("held"));
    await press(await open(server, link), "approve");
    await until(async () =>
      (await read()).statusMessage ===
        "Approved. Waits for its turn among the calls of long"
    );
    time.tick(hasTurn ? 15 * 60 : 30 * 60);
    assert.equal((await read()).status, "working");
    if (hasTurn) underWay.get("held")!();
    let now: Json = {};
    await until(async () => (now = await read()).status === "completed");
    const words = /^This was approved, but its turn .* did not come in time\./;
    const [{ text }] = now.result.content;
    if (hasTurn) assert.equal(text, "ran a");
    else {
      assert.match(text, words);
      assert.ok(!underWay.has("a"));
      underWay.get("held")!();
    }
    await until(() => server.app.running === 0);
  });
}

Deno.test("a call that waited for its approval is charged once", async () => {
  await using server = await startOAuthServer({ tools });
  for (const id of ["a", "b"]) {
    await using waiting = await hold(server, "rare", id);
    await press(await open(server, waiting.link), "approve");
    assert.equal(await waiting.text(), `ran ${id}`);
  }
  const call = await clientOf(server, "2026");
  assert.match(
    await textOf(call("rare", { id: "c" })),
    /^Too many calls to rare a minute/,
  );
});

Deno.test("calls that only ask for an approval take each other no place", async () => {
  await using server = await startOAuthServer({ tools });
  for (const generation of ["2025", "2026"] as const) {
    for (const name of ["pay", "often", "free"]) {
      const call = await clientOf(server, generation);
      const ids = Array.from(
        { length: 10 },
        (_, at) => `ask ${generation} ${at}`,
      );
      const links = await Promise.all(
        ids.map(async (id) => linkOf(await resultOf(call(name, { id })))),
      );
      assert.equal(new Set(links).size, 10);
    }
  }
});

Deno.test("a run that asks for no approval has a place, and leaves it", async () => {
  await using server = await startOAuthServer({ tools });
  for (const generation of ["2025", "2026"] as const) {
    const call = await clientOf(server, generation);
    const running = textOf(call("free", { id: "held" }));
    await until(() => underWay.has("held"));
    assert.match(
      await textOf(call("free", { id: "b" })),
      /^Too many calls to free at a time/,
    );
    linkOf(await resultOf(call("free", { id: `ask ${generation}` })));
    underWay.get("held")!();
    assert.equal(await running, "ran held");
    assert.equal(await textOf(call("free", { id: "b" })), "ran b");
  }
});

Deno.test("a run by a remembered approval has a place, and leaves it", async () => {
  await using server = await startOAuthServer({ tools });
  const call = await clientOf(server, "2026");
  const visitor = await open(
    server,
    linkOf(await resultOf(call("often", { id: "a" }))),
  );
  await visitor.press(new URL(visitor.page.url).pathname, {
    answer: "approve",
    remember: "on",
  });
  assert.equal(await textOf(call("often", { id: "a" })), "ran a");
  const running = textOf(call("often", { id: "held" }));
  await until(() => underWay.has("held"));
  assert.match(
    await textOf(call("often", { id: "b" })),
    /^Too many calls to often at a time/,
  );
  underWay.get("held")!();
  assert.equal(await running, "ran held");
  assert.equal(await textOf(call("often", { id: "b" })), "ran b");
  // The refused call has used nothing.
  visitor.page = await visitor.browser.open(`${BASE_URL}/account/calls`);
  assert.doesNotMatch(visitor.words, /End not known/);
});

Deno.test("tasks and durable work begin one after the other, approved or not", async () => {
  await using server = await startOAuthServer({ tools });
  const { headers } = await server.person();
  const options = { headers, capabilities: { ...FORMS, ...TASKS } };
  const begin = async (name: string, id: string) => {
    if (id.includes("ask")) {
      const task = await followTask(server, { headers, name, input: { id } });
      const link = /http\S*/.exec(task.statusMessage)![0];
      return {
        ...task,
        press: async () => press(await open(server, link), "approve"),
      };
    }
    const params = { name, arguments: { id } };
    const task = await resultOf(server.call("tools/call", params, options));
    return { ...task, press: () => undefined } as Json;
  };
  const read = ({ taskId }: Json) =>
    resultOf(server.call("tasks/get", { taskId }, options));
  most = 0;
  for (const name of ["plain", "kept"]) {
    for (const how of ["at once", "ask"]) {
      const held = `held ${how}`;
      const first = await begin(name, held);
      const second = await begin(name, how);
      await first.press();
      await until(() => underWay.has(held));
      await second.press();
      assert.equal((await read(second)).status, "working");
      underWay.get(held)!();
      for (const [task, id] of [[first, held], [second, how]] as const) {
        let now: Json = {};
        await until(async () =>
          (now = await read(task)).status === "completed"
        );
        assert.equal(now.result.content[0].text, `ran ${id}`);
      }
    }
  }
  assert.equal(most, 1);
});

Deno.test("durable work by a remembered approval waits for its turn", async () => {
  await using server = await startOAuthServer({ tools });
  const { headers } = await server.person();
  const name = "seldom";
  const first = await followTask(server, {
    headers,
    name,
    input: { id: "held" },
  });
  const link = /http\S*/.exec(first.statusMessage)![0];
  const visitor = await open(server, link);
  most = 0;
  await visitor.press(new URL(link).pathname, {
    answer: "approve",
    remember: "on",
  });
  await until(() => underWay.has("held"));
  const options = { headers, capabilities: { ...FORMS, ...TASKS } };
  const params = { name, arguments: { id: "b" } };
  const { taskId } = await resultOf(
    server.call("tools/call", params, options),
  );
  await until(async () => {
    visitor.page = await visitor.browser.open(`${BASE_URL}/account/calls`);
    return visitor.words.includes("id: b");
  });
  underWay.get("held")!();
  await until(async () =>
    (await resultOf(server.call("tasks/get", { taskId }, options))).status ===
      "completed"
  );
  assert.equal(most, 1);
});
