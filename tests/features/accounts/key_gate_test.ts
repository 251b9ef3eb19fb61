/**
 * The gate of people's keys: whatever an author's function throws or returns,
 * no form of the key reaches a client, a model, the log, a page, the export or
 * the database.
 */
import assert from "node:assert/strict";
import { prompt, resource, tool, ToolError, z } from "../../../src/mod.ts";
import type { Account } from "../../../src/authoring/account.ts";
import type { Context } from "../../../src/authoring/context.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { callApi } from "../../../src/api.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import {
  clientOf,
  connect,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import { formsOf, KEYS } from "../../kit/key_forms.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import type { OAuthServer, OAuthServerOptions } from "../../kit/sign_in.ts";
import { beginTask, reached, TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const [, KEY] = KEYS;

const ADA = "ada@acme";

type Given = Context & { needs: { linear: Account } };

/** The ways in which an author's function may quote what it was given. */
const QUOTES = {
  Error: (words: string): never => {
    throw new Error(words);
  },
  ToolError: (words: string): never => {
    throw new ToolError(words);
  },
  cause: (words: string): never => {
    throw new Error("It failed", { cause: new TypeError(words) });
  },
  text: (words: string): never => {
    throw words;
  },
} as const;

/** Gives the key in every form. */
async function quoted({ needs }: Given): Promise<string> {
  return Object.values(formsOf(await needs.linear.reveal())).join(" | ");
}

/** Fails if a text has the key in any form. */
function checkClean(text: string, where: string): void {
  for (const [form, key] of Object.entries(formsOf(KEY))) {
    for (const found of [key, JSON.stringify(key).slice(1, -1)]) {
      assert(!text.includes(found), `${where}: ${form} in ${text}`);
    }
  }
}

/** A server whose person has connected the service, and all that it tells. */
async function scene(
  options: (linear: ReturnType<KeyService["key"]>) => OAuthServerOptions,
  check: (
    scene: {
      server: OAuthServer;
      told: string[];
      ask(method: string, params: unknown): Promise<string>;
    },
  ) => Promise<void>,
): Promise<void> {
  await using service = new KeyService();
  service.accounts.set(KEY, "ada@acme");
  const linear = service.key();
  const log = recordLog("debug");
  await using server = await startConnected(linear, {
    log: log.log,
    ...options(linear),
  });
  await connect(await openConnect(server), KEY);
  server.provider.subject = "42";
  const { headers } = await server.person();
  const told: string[] = [];
  const ask = async (method: string, params: unknown) => {
    const response = await server.call(method, params as never, {
      headers,
      capabilities: { elicitation: { form: {} } },
      meta: { progressToken: 1, "io.modelcontextprotocol/logLevel": "debug" },
    });
    const text = await response.text();
    told.push(text);
    return text;
  };
  await check({ server, told, ask });
  for (const text of told) checkClean(text, "the answer");
  checkClean(
    Deno.inspect(log.events, { depth: 9, strAbbreviateSize: 1e6 }),
    "the log",
  );
  for await (const { value } of server.kv.list({ prefix: [] })) {
    checkClean(JSON.stringify(value), "the database");
  }
}

for (const [how, quote] of Object.entries(QUOTES)) {
  Deno.test(`${how} of run, prepare, around, get, read and complete has no key`, async () => {
    const seen: string[] = [];
    await scene((linear) => {
      const needs = { linear };
      const fails = async (_input: unknown, given: unknown) =>
        quote(await quoted(given as Given));
      return {
        tools: [
          tool({ name: "run", needs, run: fails }),
          tool({ name: "prepare", needs, prepare: fails, run: () => "" }),
          tool({ name: "around", needs, run: () => "" }),
          tool({ name: "long", needs, task: "required", run: fails }),
        ],
        prompts: [prompt({ name: "get", needs, get: fails })],
        resources: [
          resource({
            name: "read",
            uri: "note://read",
            needs,
            read: fails as never,
          }),
          resource({
            name: "complete",
            uri: "note://{id}",
            needs,
            complete: { id: (_value, _known, given) => fails(0, given) },
            read: () => "",
          }),
        ],
        around: async ({ tool: { name }, context }, next) => {
          if (name === "around") return await fails(0, context);
          try {
            return await next();
          } catch (error) {
            seen.push(Deno.inspect(error, { strAbbreviateSize: 1e6 }));
            throw error;
          }
        },
      };
    }, async ({ ask }) => {
      for (const name of ["run", "prepare", "around", "long"]) {
        const text = await ask("tools/call", { name });
        assert.match(text, /Internal error|\(hidden\)/, name);
      }
      for (
        const [method, params] of [
          ["prompts/get", { name: "get" }],
          ["resources/read", { uri: "note://read" }],
        ] as const
      ) {
        assert.match(await ask(method, params), /Internal error|\(hidden\)/);
      }
      await ask("completion/complete", {
        ref: { type: "ref/resource", uri: "note://{id}" },
        argument: { name: "id", value: "x" },
      });
      assert.equal(seen.length, 2);
      for (const error of seen) checkClean(error, "the hook");
    });
  });
}

Deno.test("what run, get, read and complete return, and what is sent meanwhile, has no key", async () => {
  await scene((linear) => {
    const needs = { linear };
    const text = (_input: unknown, given: unknown) => quoted(given as Given);
    return {
      tools: [
        tool({ name: "text", needs, run: text }),
        tool({ name: "long", needs, task: "required", run: text }),
        tool({
          name: "error",
          needs,
          run: async (_input, given) => ({
            isError: true,
            content: [{ type: "text", text: await quoted(given as Given) }],
          }),
        }),
        tool({
          name: "data",
          needs,
          output: z.object({ words: z.string() }),
          run: async (_input, given) => ({
            words: await quoted(given as Given),
          }),
        }),
        tool({
          name: "sends",
          needs,
          async run(_input, given) {
            const words = await quoted(given as Given);
            await given.progress(1, 2, words);
            await given.log("error", { words });
            await given.ask({
              message: words,
              schema: z.object({ a: z.string() }),
            });
            return "";
          },
        }),
      ],
      prompts: [prompt({ name: "get", needs, get: text })],
      resources: [
        resource({
          name: "read",
          uri: "note://{id}",
          needs,
          complete: {
            id: async (_value, _known, given) => [await quoted(given as Given)],
          },
          read: text as never,
        }),
      ],
    };
  }, async ({ ask }) => {
    for (const name of ["text", "long", "error", "data", "sends"]) {
      const text = await ask("tools/call", { name });
      const most = { data: 2, sends: 3 }[name] ?? 1;
      assert.equal(text.match(/Basic \(hidden\)/g)?.length, most, name);
    }
    assert.match(await ask("prompts/get", { name: "get" }), /\(hidden\)/);
    const uri = "note://1";
    assert.match(await ask("resources/read", { uri }), /\(hidden\)/);
    const ref = { type: "ref/resource", uri: "note://{id}" };
    const argument = { name: "id", value: "" };
    const proposed = await ask("completion/complete", { ref, argument });
    assert.match(proposed, /\(hidden\)/);
  });
});

for (const [how, quote] of Object.entries(QUOTES)) {
  Deno.test(`${how} of a durable step is kept without the key, shown without it, and thrown again without it`, async () => {
    using time = new FakeTime();
    const thrown: string[] = [];
    await scene((linear) => ({
      tools: [
        tool({
          name: "steps",
          needs: { linear },
          task: { durable: true },
          async run(_input, given) {
            const fails = async () => quote(await quoted(given as Given));
            await given.step("fails", fails).catch((error) =>
              thrown.push(Deno.inspect(error, { strAbbreviateSize: 1e6 }))
            );
            const echo = await given.step("echo", () => quoted(given as Given));
            await given.sleep("a while", 60);
            await given.step("final", fails, { retries: 1 });
            return echo;
          },
        }),
      ],
    }), async ({ server, told }) => {
      const { headers } = await server.person();
      const sender = {
        call: (...[method, params, more]: Parameters<typeof server.call>) =>
          server.call(method, params, { ...more, headers }),
      } as typeof server;
      const taskId = await beginTask(sender, "steps");
      const visitor = await AccountVisitor.signIn(server);
      await until(async () => {
        time.tick(1);
        const page = await visitor.look(`/work?task=${taskId}`);
        told.push(page, visitor.page.text);
        return /final Failed/.test(page);
      });
      await visitor.look("/data");
      const form = formOf(visitor.page, "/account/export");
      const { text } = await visitor.browser.press(form, "", "");
      assert.match(text, /fails/);
      told.push(text);
      const response = await sender.call("tasks/get", { taskId }, {
        capabilities: TASKS,
      });
      told.push(await response.text());
    });
    // At least once as it was thrown, and once as it was kept.
    assert(thrown.length > 1);
    for (const error of thrown) checkClean(error, "the run");
  });
}

Deno.test("a key itself is no result of a step, and not what durable work begins with", async () => {
  await scene((linear) => {
    const options = { needs: { linear }, task: { durable: true } } as const;
    return {
      tools: [
        tool({
          name: "step",
          ...options,
          run: (_input, { step, needs }) =>
            step("key", async () => ({ token: await needs.linear.reveal() }))
              .then(String),
        }),
        tool({
          name: "prepare",
          ...options,
          prepare: async (_input, { needs }) => await needs.linear.reveal(),
          run: () => "",
        }),
        tool({
          name: "quotes",
          ...options,
          prepare: (_input, given) => quoted(given as Given),
          run: (_input, _given, prepared) => `${prepared}`,
        }),
        tool({
          name: "plain",
          needs: { linear },
          task: "required",
          prepare: (_input, given) => quoted(given as Given),
          run: (_input, _given, prepared) => {
            throw new Error(`${prepared}`);
          },
        }),
      ],
    };
  }, async ({ server, told, ask }) => {
    const { headers } = await server.person();
    const sender = {
      call: (...[method, params, more]: Parameters<typeof server.call>) =>
        server.call(method, params, { ...more, headers }),
    } as typeof server;
    const taskId = await beginTask(sender, "step");
    const failed = await reached(sender, taskId, "failed");
    assert.match(failed.error.message, /Internal error/);
    told.push(JSON.stringify(failed));
    await reached(sender, await beginTask(sender, "plain"), "failed");
    assert.match(
      await ask("tools/call", { name: "prepare" }),
      /Internal error/,
    );
    assert.match(await ask("tools/call", { name: "quotes" }), /\(hidden\)/);
  });
});

for (const [how, quote] of Object.entries(QUOTES)) {
  Deno.test(`${how} of a service's check leaves the key on no page and in no log`, async () => {
    await using service = new KeyService();
    const told: string[] = [];
    const log = recordLog("debug");
    const linear = service.key("linear", {
      check: async (fetch) => {
        await (await fetch("/me")).body?.cancel();
        return quote(Object.values(formsOf(KEY)).join(" | "));
      },
    });
    await using server = await startConnected(linear, { log: log.log });
    const visitor = await connect(await openConnect(server), KEY);
    assert.match(visitor.page.text, /class="error"|\(hidden\)|gave no answer/);
    told.push(
      visitor.words,
      Deno.inspect(log.events, { depth: 9, strAbbreviateSize: 1e6 }),
    );
    checkClean(told.join(), "the page or the log");
  });
}

Deno.test("callApi() cuts no answer and no refusal within a person's key", async () => {
  await using service = new KeyService(ADA);
  const key = keyOf(ADA);
  const linear = service.key();
  const ask = tool({
    name: "ask",
    input: z.object({ path: z.string() }),
    needs: { linear },
    run: ({ path }, { needs }) => callApi(needs.linear, `GET ${path}`),
  });
  await using server = await startConnected(linear, { tools: [ask] });
  await connect(await openConnect(server), key);
  service.answer = ({ url }) =>
    url.endsWith("/long")
      ? new Response(`${"a".repeat(49_995)}${key}`)
      : url.endsWith("/often")
      // Each key is longer than the words in its place.
      ? new Response(`${key}\n`.repeat(10_000))
      : Response.json({ message: "a".repeat(495) + key }, { status: 403 });
  const call = await clientOf(server, "2026");
  for (const path of ["/long", "/often", "/refused"]) {
    const text = await textOf(call("ask", { path }));
    assert.match(text, /\(hid/, path);
    assert.ok(!text.includes(key.slice(0, 4)), path);
    if (path === "/refused") assert.match(text, /^Linear answered 403: aaa/);
  }
});

Deno.test("a key that is a word breaks no result, question, task or step", async () => {
  for (const word of ["text", "content", "isError", "string", "test"]) {
    using time = new FakeTime();
    await using service = new KeyService();
    service.accounts.set(word, ADA);
    const linear = service.key("linear", { shape: undefined });
    const needs = { linear };
    const output = z.object({ test: z.string(), text: z.int() });
    const run = async (_input: unknown, given: unknown) => {
      const key = await (given as Given).needs.linear.reveal();
      return { test: `the key is ${key}`, text: 2026 };
    };
    const tools = [
      tool({ name: "data", needs, output, run }),
      tool({ name: "long", needs, output, task: "required", run }),
      tool({
        name: "asks",
        needs,
        async run(_input, { needs, ask }) {
          const message = `the key is ${await needs.linear.reveal()}`;
          const schema = z.object({ test: z.string() });
          return JSON.stringify(await ask({ message, schema }));
        },
      }),
      tool({
        name: "steps",
        needs,
        task: { durable: true },
        async run(input, given) {
          const kept = await given.step("read", async () => ({
            type: "text",
            test: "test",
            content: [await run(input, given)],
          }));
          await given.sleep("a while", 60);
          return [kept.type, kept.content[0].test].join();
        },
      }),
    ];
    await using server = await startConnected(linear, { tools });
    await connect(await openConnect(server), word);
    server.provider.subject = "42";
    const { headers } = await server.person();
    const capabilities = { elicitation: { form: {} }, ...TASKS };
    const sender = {
      call: (...[method, params, more]: Parameters<typeof server.call>) =>
        server.call(method, params, { capabilities, ...more, headers }),
    } as typeof server;
    const told = "the key is (hidden)";
    const structuredContent = { test: told, text: 2026 };
    const data = await resultOf(sender.call("tools/call", { name: "data" }));

    assert.deepEqual(data.structuredContent, structuredContent);
    assert.equal(data.content[0].type, "text");
    assert.match(data.content[0].text, /hidden/);
    const long = await reached(
      sender,
      await beginTask(sender, "long"),
      "completed",
    );
    assert.deepEqual(long.result.structuredContent, structuredContent);
    const asked = await resultOf(sender.call("tools/call", { name: "asks" }));
    const [[id, { params }]] = Object.entries<Json>(asked.inputRequests);
    assert.equal(params.message, told);
    assert.deepEqual(params.requestedSchema.required, ["test"]);
    assert.equal(params.requestedSchema.properties.test.type, "string");
    const answered = await resultOf(sender.call("tools/call", {
      name: "asks",
      requestState: asked.requestState,
      inputResponses: { [id]: { action: "accept", content: { test: "yes" } } },
    }));
    assert.match(answered.content[0].text, /"yes"/);
    const taskId = await beginTask(sender, "steps");
    await until(async () => {
      time.tick(1);
      const { status } = await resultOf(sender.call("tasks/get", { taskId }));
      return status !== "working";
    });
    const steps = await resultOf(sender.call("tasks/get", { taskId }));
    assert.equal(steps.result?.content[0].text, `text,${told}`, word);
  }
});
