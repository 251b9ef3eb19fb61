/** The limits of tools whose calls wait for an approval. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import type { Json } from "../../kit/message.ts";
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

const input = z.object({ id: z.string() });

async function run({ id }: { id: string }) {
  const held = Promise.withResolvers<void>();
  underWay.set(id, held.resolve);
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
const tools = [pay, long, rare];

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
