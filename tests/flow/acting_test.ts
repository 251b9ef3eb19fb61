/**
 * The end of everything that a tool does in the name of its caller, with their
 * key of a service and with the provider's token, when its call or its task is
 * over for them.
 */
import assert from "node:assert/strict";
import { type Context, type PersonalKey, tool, z } from "../../src/mod.ts";
import { messagesOf, resultOf, textOf } from "../kit/answer.ts";
import {
  callBy,
  clientOf,
  connect,
  openConnect,
  OPENS,
  startConnected,
} from "../kit/connected.ts";
import type { AccountVisitor } from "../kit/account_visitor.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { keyOf, KeyService } from "../kit/key_service.ts";
import { type HeadersOf, type Json, rpc } from "../kit/message.ts";
import type { OAuthServer } from "../kit/sign_in.ts";
import { until, within } from "../kit/wait.ts";

type Given = Context<
  Record<never, never>,
  Record<never, never>,
  { linear: PersonalKey }
>;

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

interface Scene {
  server: OAuthServer;
  visitor: AccountVisitor;
  time: FakeTime;
  headers: HeadersOf;
}

/** Begins a call, and returns the function that ends it. */
type Begin = (scene: Scene) => Promise<() => Promise<void>>;

const fromPage = (action: string): Begin => async (scene) => {
  const { server, headers, visitor, time } = scene;
  const call = await callBy(server, "2026", headers);
  call("acts").then((response) => response.body?.cancel());
  return async () => {
    await visitor.look();
    await visitor.press(action);
    time.tick(2);
  };
};

const ENDS: Record<string, Begin> = {
  "its connection has ended": fromPage("/account/end"),
  "its connection is paused": fromPage("/account/pause"),

  "its client has cancelled it": async ({ server, headers }) => {
    const session = await server.openSession({ headers });
    const message = rpc("tools/call", { name: "acts" });
    session.post(message).then((response) => response.body?.cancel());
    return async () => {
      const params = { requestId: message.id };
      await session.notify("notifications/cancelled", params);
    };
  },

  "its task is cancelled": async ({ server, headers }) => {
    const call = await callBy(server, "2026", headers, TASKS);
    const { taskId } = await resultOf(call("acts_long"));
    return async () => {
      const options = { headers, capabilities: TASKS };
      await server.call("tasks/cancel", { taskId }, options);
    };
  },
};

for (const [what, begin] of Object.entries(ENDS)) {
  Deno.test(`a tool acts for its caller no more once ${what}`, async () => {
    using time = new FakeTime();
    await using service = new KeyService("ada@acme");
    const linear = service.key();
    let context: Given | undefined;
    const over = Promise.withResolvers<string>();
    using _end = { [Symbol.dispose]: () => over.resolve("") };
    const run = async (_input: unknown, given: Given) => {
      context = given;
      return await over.promise;
    };
    const tools = [
      tool({ name: "acts", needs: { linear }, run }),
      tool({ name: "acts_long", needs: { linear }, task: "required", run }),
    ];
    await using server = await startConnected(linear, { tools } as Json);
    const visitor = await connect(await openConnect(server), keyOf("ada@acme"));
    server.provider.subject = "42";
    server.provider.apiUrl = undefined;
    const { headers } = await server.person();
    const end = await begin({ server, visitor, time, headers });
    await until(() => context !== undefined);
    const { needs, upstream } = context!;
    const acts: Record<string, () => Promise<unknown>> = {
      "needs.fetch": async () => (await needs.linear.fetch("/me")).text(),
      "needs.reveal": () => needs.linear.reveal(),
      "upstream.token": () => upstream.token(),
      "upstream.fetch": async () =>
        (await upstream.fetch(`${service.url}/theirs`)).text(),
    };
    for (const act of Object.values(acts)) await act();
    service.seen.length = 0;

    // Requests under way, and a body that is still arriving.
    service.answer = async (request) => {
      if (!request.url.endsWith("/body")) await over.promise;
      return new Response(ReadableStream.from((async function* () {
        yield new Uint8Array(1);
        await over.promise;
      })()));
    };
    const body = (await needs.linear.fetch("/body")).text();
    const underWay = [
      body,
      needs.linear.fetch("/hangs"),
      upstream.fetch(`${service.url}/hangs`),
    ].map((one) => assert.rejects(one, { name: "AbortError" }));
    await until(() => service.seen.length === 3);
    await end();
    await within(10, Promise.all(underWay));

    for (const [name, act] of Object.entries(acts)) {
      await assert.rejects(act, { name: "AbortError" }, name);
    }
    assert.equal(service.seen.length, 3);
  });
}

Deno.test("a call of a server that stops acts for its caller until it has answered", async () => {
  await using service = new KeyService("ada@acme");
  const linear = service.key();
  let stop = () => {};
  const last = tool({
    name: "last",
    needs: { linear },
    async run(_input, { needs, upstream, signal }) {
      stop();
      assert.equal(signal.aborted, true);
      await upstream.token();
      return await (await needs.linear.fetch("/me")).text();
    },
  });
  await using server = await startConnected(linear, { tools: [last] });
  stop = () => server.app.stop();
  await connect(await openConnect(server), keyOf("ada@acme"));
  const call = await clientOf(server, "2026");
  assert.equal(await textOf(call("last")), "ada@acme");
});

Deno.test("an access token without accounts reaches no task of a tool that needs them, nor its question", async () => {
  await using service = new KeyService("ada@acme");
  const linear = service.key();
  const kinds = {
    plain: { task: "required" },
    durable: { task: { durable: true } },
    long: { handOver: 1 / 50 },
  };
  const begun = Promise.withResolvers<void>();
  const tools = Object.entries(kinds).map(([name, options]) =>
    tool({
      name,
      needs: { linear },
      ...options,
      async run(_input: unknown, { needs, ask }: Given) {
        if (name === "long") await begun.promise;
        await ask({ message: "Go on?", schema: z.object({}) });
        return await (await needs.linear.fetch("/me")).text();
      },
    } as Json)
  );
  await using server = await startConnected(linear, { tools } as Json);
  const visitor = await connect(await openConnect(server), keyOf("ada@acme"));
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const without = bearer(await visitor.makeToken());
  const allowed = bearer(await visitor.makeToken({ accounts: "yes" }));
  server.provider.subject = "42";
  const { headers } = await server.person();
  const capabilities = { ...TASKS, ...OPENS };
  const ask = async (method: string, params: Json, headers: HeadersOf) =>
    (await messagesOf(
      await server.call(method, params, { headers, capabilities }),
    )).at(-1)!;
  const named = (name: string, taskId: string) => ({
    name,
    arguments: { taskId },
  });

  for (const name of Object.keys(kinds)) {
    const call = { name, arguments: {} };
    const { result: { taskId } } = await ask("tools/call", call, headers);
    if (name === "long") begun.resolve();
    let key = "";
    await until(async () => {
      const { result } = await ask("tasks/get", { taskId }, headers);
      return (key = Object.keys(result.inputRequests ?? {})[0] ?? "") !== "";
    });
    const inputResponses = { [key]: { action: "accept", content: {} } };
    const notifications = { taskIds: [taskId] };
    const refused: [string, Json][] = [
      ["tasks/get", { taskId }],
      ["tasks/update", { taskId, inputResponses }],
      ["tasks/cancel", { taskId }],
      ["subscriptions/listen", { notifications }],
      ["tools/call", named("task_status", taskId)],
      ["tools/call", named("task_cancel", taskId)],
    ];
    for (const [method, params] of refused) {
      const { result, error } = await ask(method, params, without);
      const words = error?.message ?? result.content[0].text;
      assert.match(words, /may not act with its person's accounts/, method);
    }
    const { result } = await ask("tasks/get", { taskId }, allowed);
    assert.equal(result.status, "input_required", name);
    await ask("tasks/update", { taskId, inputResponses }, allowed);
    await until(async () => {
      const { result } = await ask("tasks/get", { taskId }, headers);
      return result.status === "completed";
    });
  }
});
