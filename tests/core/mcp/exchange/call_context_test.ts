import assert from "node:assert/strict";
import * as z from "zod";
import { ANONYMOUS } from "../../../../src/core/caller.ts";
import { RpcError } from "../../../../src/core/errors.ts";
import { ToolError } from "../../../../src/authoring/tool.ts";
import { AuthorCode } from "../../../../src/core/mcp/exchange/author_code.ts";
import {
  CallContext,
  contextWith,
} from "../../../../src/core/mcp/exchange/call_context.ts";
import type { Work } from "../../../../src/core/mcp/exchange/work.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import { rejects } from "../../../kit/refuses.ts";

type Sent = [method: string, params: JsonObject, key?: string];

/** A context whose client answers every question with `answer`. */
function contextOf(
  settings: Partial<Work> & { capabilities?: JsonObject } = {},
  answer: JsonObject = {},
) {
  const sent: Sent[] = [];
  const keep = (...message: Sent) => {
    sent.push(message);
    return Promise.resolve(answer);
  };
  const changes: unknown[] = [];
  const note = (change: unknown) => {
    changes.push(change);
    return Promise.resolve();
  };
  const context = new CallContext({
    caller: ANONYMOUS,
    requestId: "r",
    client: {
      revision: "2026-07-28",
      capabilities: settings.capabilities ?? {},
    },
    stateless: true,
    meta: {},
    signal: AbortSignal.abort(),
    overSignal: new AbortController().signal,
    isOver: () => false,
    notify: (...message) => keep(...message).then(() => {}),
    request: ({ method, params, key }) => keep(method, params, key),
    changes: { resourceUpdated: note, listChanged: note },
    ...settings,
  });
  return { context, sent, changes };
}

const printed = (sent: Sent[]) => JSON.parse(JSON.stringify(sent));

const SCHEMA = z.object({ name: z.string(), age: z.int().optional() });
const QUESTION = { message: "Who?", schema: SCHEMA };
const FORMS = { capabilities: { elicitation: {} } };

Deno.test("progress() sends what the client asked for", async () => {
  const { context, sent } = contextOf({ progressToken: 0 });
  const { progress } = context;
  await progress(1);
  await progress(2, 3, "two");
  assert.deepEqual(printed(sent), [
    ["notifications/progress", { progressToken: 0, progress: 1 }],
    ["notifications/progress", {
      progressToken: 0,
      progress: 2,
      total: 3,
      message: "two",
    }],
  ]);
});

Deno.test("progress() sends nothing to a client that did not ask", async () => {
  const { context, sent } = contextOf();
  await context.progress(1);
  assert.deepEqual(sent, []);
});

Deno.test("progress() must grow", async () => {
  const { context, sent } = contextOf({ progressToken: "t" });
  for (const done of [0, 0, -1, NaN, 0.5, 0.5, 1]) await context.progress(done);
  assert.deepEqual(sent.map(([, { progress }]) => progress), [0, 0.5, 1]);
});

Deno.test("log() sends what is as severe as the client wants", async () => {
  const { context, sent } = contextOf({ logLevel: "warning" });
  const { log } = context;
  await log("debug", 1);
  await log("notice", 2);
  await log("warning", 3, "disk");
  await log("emergency", { four: 4 });
  assert.deepEqual(printed(sent), [
    ["notifications/message", { level: "warning", logger: "disk", data: 3 }],
    ["notifications/message", { level: "emergency", data: { four: 4 } }],
  ]);
});

Deno.test("ask() puts a form to the client and parses what comes back", async () => {
  const { context, sent } = contextOf(FORMS, {
    action: "accept",
    content: { name: "Ada", age: 36, more: true },
  });
  const { ask } = context;
  assert.deepEqual(await ask({ ...QUESTION, key: "who" }), {
    action: "accept",
    content: { name: "Ada", age: 36 },
  });
  const [[method, { mode, message, requestedSchema }, key]] = sent;
  assert.deepEqual([method, mode, message, key], [
    "elicitation/create",
    "form",
    "Who?",
    "who",
  ]);
  const { type, required, ...rest } = requestedSchema as JsonObject;
  assert.deepEqual([type, required], ["object", ["name"]]);
  assert.deepEqual(Object.keys(rest), ["properties"]);
});

Deno.test("ask() sends a person to a page", async () => {
  const settings = { capabilities: { elicitation: { url: {} } } };
  const { context, sent } = contextOf(settings, { action: "accept" });
  const url = "https://example.com/pay";
  assert.deepEqual(await context.ask({ message: "Pay", url }), {
    action: "accept",
    content: undefined,
  });
  assert.deepEqual(sent[0][1], { mode: "url", message: "Pay", url });
  for (const wrong of ["javascript:alert(1)", "file:///etc", "//a.example"]) {
    await assert.rejects(
      context.ask({ message: "Pay", url: wrong }),
      /url must be an https or http address/,
    );
  }
  assert.equal(sent.length, 1);
});

Deno.test("ask() puts a schema that Zod cannot say as it stands", async () => {
  const content = { choice: "a" };
  const { context, sent } = contextOf(FORMS, { action: "accept", content });
  const requestedSchema = {
    type: "object",
    properties: { choice: { type: "string", enum: ["a"] } },
  };
  const answer = await context.ask({ message: "Which?", requestedSchema });
  assert.deepEqual(answer, { action: "accept", content });
  assert.deepEqual(sent[0][1], {
    mode: "form",
    message: "Which?",
    requestedSchema,
  });
});

Deno.test("ask() takes nothing for a form in which nothing has to be filled in", async () => {
  const properties = { choice: { type: "string" } };
  const forms = [
    { schema: z.object({}) },
    { schema: z.object({ choice: z.string().optional() }) },
    { requestedSchema: { type: "object", properties } },
    { requestedSchema: { type: "object", properties, required: [] } },
  ];
  for (const content of [undefined, null, {}]) {
    for (const form of forms) {
      const { context } = contextOf(FORMS, { action: "accept", content });
      const answer = await context.ask({ message: "Which?", ...form });
      assert.deepEqual(answer, { action: "accept", content: {} });
    }
    if (content) continue;
    const { context } = contextOf(FORMS, { action: "accept", content });
    const required = ["choice"];
    const requestedSchema = { type: "object", properties, required };
    await rejects(context.ask({ message: "Which?", requestedSchema }), -32602);
  }
});

Deno.test("ask() tells the author of a form without fields, which no one may have seen", async () => {
  const advice: string[] = [];
  const advise = (message: string) => void advice.push(message);
  const accept = { action: "accept", content: {} };
  const { context } = contextOf({ ...FORMS, advise } as typeof FORMS, accept);
  const choice = z.string().optional();
  await context.ask({ message: "Which?", schema: z.object({ choice }) });
  assert.deepEqual(advice, []);
  await context.ask({ message: "Sure?", schema: z.object({}) });
  assert.match(advice.join(), /without fields/);
});

Deno.test("ask() puts a form three times, and says what is wrong with it", async () => {
  const wrong = { action: "accept", content: { name: 1 } };
  const { context, sent } = contextOf(FORMS, wrong);
  await assert.rejects(context.ask(QUESTION), { name: "FormError" });
  const messages = sent.map(([, { message }]) => message as string);
  assert.equal(messages.length, 3);
  assert.equal(messages[0], QUESTION.message);
  for (const message of messages.slice(1)) {
    assert.match(message, /Please correct:\n- name: /);
  }
  assert.deepEqual(sent.map(([, , key]) => key), [
    undefined,
    undefined,
    undefined,
  ]);
  sent.length = 0;
  await assert.rejects(context.ask({ ...QUESTION, key: "who" }));
  assert.deepEqual(sent.map(([, , key]) => key), ["who", "who#2", "who#3"]);
});

const SAMPLE = {
  messages: [{ role: "user", content: { type: "text", text: "?" } }],
  maxTokens: 5,
} as Parameters<CallContext["sample"]>[0];
const TOOL_SAMPLE = { ...SAMPLE, tools: [] };

type Use = (context: CallContext) => Promise<unknown>;

/**
 * Calls that are refused, with the client's capabilities and the needed ones.
 */
const MISSING: [what: string, Use, JsonObject, needs: JsonObject][] = [
  ["a form", (c) => c.ask(QUESTION), {}, { elicitation: { form: {} } }],
  ["sampling", (c) => c.sample(SAMPLE), { sampling: true }, { sampling: {} }],
  ["roots", (c) => c.roots(), {}, { roots: {} }],
];

for (const [what, use, capabilities, requiredCapabilities] of MISSING) {
  const declared = JSON.stringify(capabilities);
  Deno.test(`${what} is refused for a client that declares ${declared}`, async () => {
    const { context, sent } = contextOf({ capabilities });
    await assert.rejects(use(context), (error) => {
      assert.ok(error instanceof RpcError);
      assert.deepEqual([error.code, error.status], [-32021, 400]);
      assert.deepEqual(error.data, { requiredCapabilities });
      return true;
    });
    assert.deepEqual(sent, []);
    const session = contextOf({ capabilities, stateless: false });
    await assert.rejects(use(session.context), ToolError);
  });
}

Deno.test("sample() hands the request on and the answer back", async () => {
  const answer = { model: "m", role: "assistant", content: { type: "text" } };
  const { context, sent } = contextOf(
    { capabilities: { sampling: { tools: {} } } },
    answer,
  );
  assert.deepEqual(await context.sample(TOOL_SAMPLE), answer);
  assert.deepEqual(sent[0].slice(0, 2), [
    "sampling/createMessage",
    TOOL_SAMPLE,
  ]);
});

Deno.test("sample() refuses an answer without a model or content", async () => {
  for (const answer of [{ model: "m" }, { content: {} }]) {
    const { context } = contextOf({ capabilities: { sampling: {} } }, answer);
    await rejects(context.sample(SAMPLE), -32602);
  }
});

Deno.test("roots() gives the list, and refuses an answer without one", async () => {
  const settings = { capabilities: { roots: {} } };
  const roots = [{ uri: "file:///a" }];
  assert.deepEqual(await contextOf(settings, { roots }).context.roots(), roots);
  await rejects(contextOf(settings, {}).context.roots(), -32602);
});

Deno.test("upstream is the provider's API, and fails clearly where there is no provider", async () => {
  const upstream = {
    token: () => Promise.resolve("t"),
    fetch: () => Promise.resolve(new Response()),
  };
  const { context } = contextOf({ upstream });
  assert.equal(await context.upstream.token(), "t");
  assert.equal((await context.upstream.fetch("/")).status, 200);
  assert.throws(() => contextOf().context.upstream, ToolError);
});

Deno.test("upstream tells nothing to code that was interrupted, however its act ends", async () => {
  const over = new AbortController();
  const authorCode = new AuthorCode(() => {});
  const late = Promise.withResolvers<string>();
  const upstream = {
    token: () => late.promise,
    fetch: () => Promise.resolve(new Response()),
  };
  const { signal: overSignal } = over;
  const isOver = () => overSignal.aborted;
  const settings = { upstream, authorCode, overSignal, isOver };
  const { context } = contextOf(settings);
  const acts = [context.upstream.token()];
  authorCode.interrupt(new Error("A question"));
  over.abort();
  acts.push(context.upstream.token());
  late.resolve("t");
  const first = await Promise.race([
    ...acts.map((act) => act.then(() => "told", () => "told")),
    new Promise((resolve) => setTimeout(resolve, 0, "nothing")),
  ]);
  assert.equal(first, "nothing");
});

Deno.test("resourceUpdated() and listChanged() tell who listens", async () => {
  const { context, changes } = contextOf();
  await context.resourceUpdated("a://b");
  await context.listChanged("tools");
  assert.deepEqual(changes, ["a://b", "tools"]);
});

Deno.test("step(), sleep() and wait() throw at once in a tool that is not durable", () => {
  const { step, sleep, wait } = contextOf().context;
  const because = /only in a run of a tool with task: { durable: true }/;
  assert.throws(() => step("a", () => 1), because);
  assert.throws(() => sleep("a", 1), because);
  const moment = { message: "", open: () => {}, seconds: 1 };
  assert.throws(() => wait("a", moment), because);
});

Deno.test("contextWith() makes members of features once, when they are first read, and leaves other contexts as they are", () => {
  assert.equal(contextWith([]), undefined);
  const made: string[] = [];
  const member = (context: { requestId: string }) => {
    made.push(context.requestId);
    return { of: context.requestId };
  };
  const Context = contextWith([{ motd: member } as object])!;
  const context = new Context({ requestId: "r" } as Work);
  assert.deepEqual(made, []);
  const { motd } = context as unknown as { motd: unknown };
  assert.deepEqual(motd, { of: "r" });
  assert.equal((context as unknown as { motd: unknown }).motd, motd);
  assert.deepEqual(made, ["r"]);
  assert.equal(CallContext.hasAsked(context), false);
  assert.equal("motd" in contextOf().context, false);
});
