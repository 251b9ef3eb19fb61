/**
 * Another MCP server that is hostile: a clear error, in time, and nothing to the
 * wrong host.
 */
import assert from "node:assert/strict";
import { heldResponseBudget } from "../../../src/core/mcp/exchange/held_answers.ts";
import { within } from "../../../src/core/clock.ts";
import { tool, z } from "../../../src/mod.ts";
import { startConnected } from "../../kit/connected.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { events, McpService } from "../../kit/mcp_service.ts";
import {
  callThrough,
  connectThere,
  hearing,
  startThrough,
  through,
} from "../../kit/mcp_through.ts";
import { until } from "../../kit/wait.ts";

/** Answers endlessly with a text. */
function endless(text: string, type: string): Response {
  const chunk = new TextEncoder().encode(text);
  return new Response(
    new ReadableStream({ pull: (it) => it.enqueue(chunk) }),
    { headers: { "content-type": type } },
  );
}

const STREAM = "text/event-stream";
const progress = `data: ${
  JSON.stringify({
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: 1, progress: 1 },
  })
}\n\n`;

/** Makes the answer that asks our caller one question. */
function asking(params: Json): () => Json {
  const a = { method: "elicitation/create", params };
  return () => ({ resultType: "input_required", inputRequests: { a } });
}

/** The hostile answers to `tools/call`, and what the model is told. */
const ANSWERS: Record<
  string,
  [answer: (id: unknown) => Response | Json, words: RegExp]
> = {
  "a stream of comments without end": [
    () => endless(": wait\n\n".repeat(1000), STREAM),
    /answered too much|more than \d+ bytes/,
  ],
  "progress without end": [
    () => endless(progress.repeat(100), STREAM),
    /answered too much|more than \d+ bytes/,
  ],
  "one event without end": [
    () => endless("data: " + "a".repeat(10_000), STREAM),
    /answered too much|more than \d+ bytes/,
  ],
  "JSON without end": [
    () => endless("[".repeat(10_000), "application/json"),
    /answered too much|more than \d+ bytes/,
  ],
  "100 MB": [
    () =>
      new Response(new Uint8Array(100 * 1024 * 1024), {
        headers: { "content-type": "application/json" },
      }),
    /answered too much|more than \d+ bytes/,
  ],
  "HTML": [
    () =>
      new Response("<html><script>alert(1)</script></html>", {
        headers: { "content-type": "text/html" },
      }),
    /^Other gave an answer that is of no use\. It may have been done /,
  ],
  "JSON that is no message": [
    () => Response.json([1, 2]),
    /^Other gave an answer that is of no use\. It may have been done /,
  ],
  "nothing": [
    () => new Response(null, { status: 202 }),
    /^Other gave an answer that is of no use\. It may have been done /,
  ],
  "a result of another request": [
    () => Response.json({ jsonrpc: "2.0", id: 999, result: {} }),
    /^Other gave an answer that is of no use\. It may have been done /,
  ],
  "two results, of which the first counts": [
    (id) => {
      const answers = ["first", "second"].map((text) => ({
        id,
        result: { content: [{ type: "text", text }] },
      }));
      return events(...answers);
    },
    /^first$/,
  ],
  "an answer of a method of ours": [
    (id) => Response.json({ jsonrpc: "2.0", id, method: "tools/call" }),
    /^Other gave an answer that is of no use\. It may have been done /,
  ],
  "a task of another's, by a path": [
    () => ({
      resultType: "task",
      taskId: "../../admin\r\nx-evil: 1",
      status: "working",
      ttlMs: 1000,
      pollIntervalMs: 0,
    }),
    /^Other (refused the call|gave an answer|gave a result)/,
  ],
  "a result of another kind": [
    () => ({ content: "text" }),
    /^Other gave a result that is of no use\. It may have been done /,
  ],
  "1,001 blocks": [
    () => ({ content: Array(1001).fill({ type: "text", text: "" }) }),
    /^Other gave a result that is of no use\. It may have been done /,
  ],
  "20,000 values": [
    () => ({
      content: [{ type: "text", text: "" }],
      more: Array(20_000).fill([]),
    }),
    /^Other answered too much: the call was ended\. It may have been done /,
  ],
  "20,000 values behind a quote that opens nothing": [
    (id) => {
      const result = { content: [], more: Array(20_000).fill([]) };
      const message = JSON.stringify({ jsonrpc: "2.0", id, result });
      return new Response(`: \\"\\\ndata: ${message}\n\n`, {
        headers: { "content-type": STREAM },
      });
    },
    /^Other answered too much: the call was ended\. It may have been done /,
  ],
  "an error with a page of words": [
    (id) =>
      Response.json({
        jsonrpc: "2.0",
        id,
        error: { code: -1, message: "\u001b[31m" + "x".repeat(100_000) },
      }),
    /^Other refused the call \(-1\): \[31mx{990,1000}$/,
  ],
  "500 and an error": [
    (id) => {
      const error = { code: -32603, message: "Internal error" };
      return Response.json({ jsonrpc: "2.0", id, error }, { status: 500 });
    },
    /^Other refused the call \(-32603\): Internal error\. It may have been done /,
  ],
  "500": [
    () => new Response("broken", { status: 500 }),
    /^Other answered 500\. It may have been done all the same: check before /,
  ],
  "a question without end": [
    () => ({
      resultType: "input_required",
      inputRequests: {},
      requestState: "again",
    }),
    /asks more than 20 times/,
  ],
  "a question of 100,000 characters": [
    asking({
      message: "m".repeat(100_000),
      requestedSchema: { type: "object", properties: {} },
    }),
    /asks too long a question/,
  ],
  "a page that is no web address": [
    asking({ mode: "url", message: "m", url: "javascript:alert(1)" }),
    /names a page that is no web address/,
  ],
  "a page whose address has a user": [
    asking({ mode: "url", message: "m", url: "https://bank.example@a.b" }),
    /names a page that is no web address/,
  ],
};

Deno.test("the table of hostile answers has each of them", () => {
  assert.equal(Object.keys(ANSWERS).length, 23);
});

for (const [what, [answer, words]] of Object.entries(ANSWERS)) {
  Deno.test(`another server that answers with ${what} gets a clear error`, async () => {
    await using service = new McpService();
    service.tools.bad = ({ id }) => answer(id);
    service.tools.full = () => ({
      content: [{ type: "text", text: ",[{".repeat(20_000) }],
      more: Array(4500).fill([]),
    });
    const log = recordLog();
    await using server = await startThrough(service, {
      call: { maxBytes: 200_000 },
      ...log,
    });
    await connectThere(server, service);
    const client = await hearing(server);
    assert.match(await callThrough(client, "bad"), words);
    // An answer is let in whose text only looks like values, and that has about
    // as many values as it may have.
    assert.equal(await callThrough(client, "full"), ",[{".repeat(20_000));
    // Nothing is lost: the next call works.
    assert.equal(await callThrough(client, "who"), "ada@acme");
    assert.doesNotMatch(
      JSON.stringify(log.events),
      /crm-(access|refresh)|alert/,
    );
  });
}

Deno.test("another server that asks for sampling in a loop is stopped after 20 questions", async () => {
  await using service = new McpService();
  let rounds = 0;
  service.tools.loop = () => ({
    resultType: "input_required",
    inputRequests: {
      [`q${++rounds}`]: { method: "sampling/createMessage", params: {} },
    },
    requestState: `${rounds}`,
  });
  let samples = 0;
  await using server = await startThrough(service, {
    call: {
      sample() {
        samples++;
        return {
          model: "own",
          role: "assistant",
          content: { type: "text", text: "tea" },
        };
      },
    },
  });
  await connectThere(server, service);
  const client = await hearing(server);
  assert.match(await callThrough(client, "loop"), /asks more than 20 times/);
  assert.ok(samples <= 20 && rounds <= 21, `${samples} ${rounds}`);
});

Deno.test("another server of a revision that no one knows is called by none", async () => {
  await using service = new McpService("2025");
  service.answer = async (request, path) => {
    if (path !== "/mcp" || request.method !== "POST") return undefined;
    const { id, method } = await request.clone().json();
    if (method !== "initialize") return undefined;
    const serverInfo = { name: "other", version: "1" };
    const result = {
      protocolVersion: "1999-01-01",
      capabilities: {},
      serverInfo,
    };
    return Response.json({ jsonrpc: "2.0", id, result });
  };
  await using server = await startThrough(service);
  await connectThere(server, service);
  const client = await hearing(server);
  assert.match(await callThrough(client, "who"), /an answer that is of no use/);
  assert.ok(service.messages.every(({ method }) => method !== "tools/call"));
});

Deno.test("another server that answers too slowly is given up", async () => {
  await using service = new McpService();
  let ended = false;
  service.tools.slow = () =>
    new Response(
      new ReadableStream({
        start: (it) => it.enqueue(new TextEncoder().encode(": wait\n\n")),
        cancel: () => void (ended = true),
      }),
      { headers: { "content-type": STREAM } },
    );
  await using server = await startThrough(service, { call: { seconds: 0.2 } });
  await connectThere(server, service);
  const client = await hearing(server);
  assert.equal(
    await callThrough(client, "slow"),
    "Other gave no result within 0.2 seconds. It may have been done all the " +
      "same: check before you repeat it.",
  );
  await until(() => ended);
});

Deno.test("a call that waits for the generation that another call asks for ends in its own time", async () => {
  await using service = new McpService();
  const asked = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  service.answer = async (request, path) => {
    if (path !== "/mcp" || !request.headers.has("authorization")) return;
    const { method } = await request.clone().json();
    if (method !== "server/discover") return;
    asked.resolve();
    await goesOn.promise;
    return;
  };
  const times = [600, 0.2];
  const call = {
    get seconds() {
      return times.shift();
    },
  };
  await using server = await startThrough(service, { call });
  await connectThere(server, service);
  const client = await hearing(server);
  const first = callThrough(client, "who");
  await asked.promise;
  const late = within(
    10_000,
    callThrough(client, "who"),
    () => "still waits",
  );
  assert.equal(await late, "Other gave no result within 0.2 seconds.");
  goesOn.resolve();
  assert.equal(await first, "ada@acme");
});

for (const way of ["call", "fetch"] as const) {
  Deno.test(`answers that another server holds back from needs.other.${way}() count, for a caller and in all, until they are over`, async () => {
    const MIB = 2 ** 20;
    await using service = new McpService();
    const goesOn = Promise.withResolvers<void>();
    const held = (id: unknown) => {
      const chunk = new TextEncoder().encode(" ".repeat(MIB));
      let left = 9;
      return new Response(
        new ReadableStream({
          async pull(it) {
            if (left-- > 0) return it.enqueue(chunk);
            await goesOn.promise;
            const result = { content: [{ type: "text", text: "late" }] };
            it.enqueue(new TextEncoder().encode(
              JSON.stringify({ jsonrpc: "2.0", id, result }),
            ));
            it.close();
          },
        }),
        { headers: { "content-type": "application/json" } },
      );
    };
    service.tools.held = ({ id }) => held(id);
    service.answer = (_, path) =>
      path === "/mcp/held"
        ? held(1)
        : path === "/mcp/who"
        ? Response.json({ result: { content: [{ text: service.account }] } })
        : undefined;
    const other = service.server();
    const reading = tool({
      name: "through",
      input: z.object({ tool: z.string() }),
      needs: { other },
      async run({ tool }, { needs }) {
        const { result } = await (await needs.other.fetch(`/${tool}`)).json();
        return result.content[0].text;
      },
    });
    const tools = [way === "call" ? through(other) : reading];
    await using server = await startConnected(other, { tools });
    await connectThere(server, service);
    await connectThere(server, service, { as: "43", account: "bob@acme" });
    const ada = await hearing(server);
    const bob = await hearing(server, { as: "43" });
    const before = heldResponseBudget.bytes;
    const calls = [1, 2, 3].map(() => callThrough(ada, "held"));
    await until(() => heldResponseBudget.bytes - before >= 27 * MIB);
    assert.match(await callThrough(ada, "held"), /^Too many answers of other/);
    assert.equal(await callThrough(bob, "who"), "bob@acme");
    heldResponseBudget.count(undefined, 101 * MIB);
    assert.match(await callThrough(bob, "who"), /^Too many answers of other/);
    heldResponseBudget.count(undefined, -101 * MIB);
    goesOn.resolve();
    assert.deepEqual(await Promise.all(calls), ["late", "late", "late"]);
    assert.equal(heldResponseBudget.bytes, before);
    service.account = "ada@acme";
    assert.equal(await callThrough(ada, "who"), "ada@acme");
  });
}

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`a redirect (${status}) of another server to another host gets no token`, async () => {
    await using service = new McpService();
    await using thief = new McpService("2026", "thief");
    service.tools.away = () =>
      new Response(null, { status, headers: { location: thief.url } });
    await using server = await startThrough(service);
    await connectThere(server, service);
    const client = await hearing(server);
    assert.match(
      await callThrough(client, "away"),
      /leads to .*where its key does not go/,
    );
    assert.deepEqual(thief.asked, []);
    assert.deepEqual(thief.messages, []);
  });
}

for (const name of ["../admin", "a/../../b", "crm:who", "who\r\nx: y", ""]) {
  Deno.test(`the name ${JSON.stringify(name)} of a tool is a name there, and no address`, async () => {
    await using service = new McpService();
    await using server = await startThrough(service);
    await connectThere(server, service);
    const client = await hearing(server);
    const before = service.asked.length;
    const isName = /^[^\p{C}]+$/u.test(name);
    const words = await callThrough(client, name).catch(({ message }) =>
      message
    );
    if (isName) assert.match(words, /Unknown tool/);
    for (const path of service.asked.slice(before)) assert.equal(path, "/mcp");
    if (!isName) assert.equal(service.messages.length, 0);
  });
}

Deno.test("a token that another server repeats is hidden from our caller", async () => {
  await using service = new McpService();
  service.tools.echo = ({ request }) => ({
    content: [{
      type: "text",
      text: `you sent ${request.headers.get("authorization")}`,
    }],
  });
  service.tools.fail = ({ request, id }) =>
    events({
      id,
      error: {
        code: -32000,
        message: `bad ${request.headers.get("authorization")}`,
      },
    });
  const log = recordLog();
  await using server = await startThrough(service, log);
  await connectThere(server, service);
  const client = await hearing(server);
  const seen = [
    await callThrough(client, "echo"),
    await callThrough(client, "fail"),
    JSON.stringify(log.events),
  ].join();
  assert.match(seen, /you sent/);
  assert.doesNotMatch(seen, /crm-access/);
});

Deno.test("a token that is cut in two in the words of another server is hidden from our caller", async () => {
  await using service = new McpService();
  const after = (count: number, { headers }: Request) =>
    "a".repeat(count) + headers.get("authorization")!.slice(7);
  // The words of each are cut within the token.
  service.tools.error = ({ request, id }) =>
    events({ id, error: { code: -32000, message: after(990, request) } });
  service.tools.failure = ({ request }) => ({
    isError: true,
    content: [{ type: "text", text: after(9990, request) }],
  });
  service.tools.progress = ({ request, id }) =>
    events({
      method: "notifications/progress",
      params: { progressToken: id, progress: 1, message: after(490, request) },
    }, { id, result: { content: [] } });
  service.tools.question = ({ request, params: { inputResponses } }) => {
    if (inputResponses) return { content: [] };
    const message = after(3990, request);
    const params = { mode: "url", message, url: "https://id.example/" };
    const a = { method: "elicitation/create", params };
    return { resultType: "input_required", inputRequests: { a } };
  };
  service.tools.unknown = ({ request }) => ({
    resultType: "input_required",
    inputRequests: { a: { method: after(50, request) } },
  });
  const log = recordLog();
  await using server = await startThrough(service, log);
  await connectThere(server, service);
  const seen: string[] = [];
  const note = (...it: unknown[]) => void seen.push(JSON.stringify(it));
  const client = await hearing(server, {
    onNotification: note,
    onQuestion: (question) => {
      note(question.params);
      return { action: "cancel" };
    },
  });
  for (const name of Object.keys(service.tools)) {
    seen.push(await callThrough(client, name));
  }
  const words = [...seen, JSON.stringify(log.events)].join("\n")
    .replaceAll(/a{50,}/g, "a");
  assert.equal(words.match(/a\(hidden/g)?.length, 5, words);
  assert.doesNotMatch(words, /acrm|crm-access/);
});

Deno.test("a call that another server may have done is called so, and no other", async () => {
  await using service = new McpService();
  service.tools.cut = () =>
    new Response(": wait\n\n", { headers: { "content-type": STREAM } });
  service.tools.gateway = () => new Response("", { status: 502 });
  service.tools.busy = () => new Response("", { status: 429 });
  service.tools.none = () => new Response("", { status: 405 });
  await using server = await startThrough(service);
  await connectThere(server, service);
  const client = await hearing(server);
  const unsure = /It may have been done all the same: check before you repeat/;
  for (const name of ["cut", "gateway"]) {
    assert.match(await callThrough(client, name), unsure);
  }
  for (const name of ["busy", "none", "who"]) {
    assert.doesNotMatch(await callThrough(client, name), unsure);
  }
  await service[Symbol.asyncDispose]();
  // A connection that was kept may break off as the call is sent.
  await until(async () =>
    await callThrough(client, "who") ===
      "Other did not answer: try again later."
  );
});

Deno.test("while the sign-in of another server is away, no one is told to connect again", async () => {
  await using service = new McpService();
  await using server = await startThrough(service);
  await connectThere(server, service);
  const client = await hearing(server);
  assert.equal(await callThrough(client, "who"), "ada@acme");
  for (const grant of service.grants) grant.access.clear();
  service.answer = (_request, path) =>
    path === "/token" ? new Response("", { status: 503 }) : undefined;
  assert.equal(
    await callThrough(client, "who"),
    "Other does not give access now: try again later. If that goes on, the " +
      "person can replace the account on their account page.",
  );
});

Deno.test("nothing of our caller's own credential reaches another server", async () => {
  await using service = new McpService();
  const seen: string[] = [];
  service.answer = async (request) => {
    const text = request.method === "POST" ? await request.clone().text() : "";
    seen.push(JSON.stringify([...request.headers]) + text + request.url);
    return undefined;
  };
  await using server = await startThrough(service);
  await connectThere(server, service);
  server.provider.subject = "42";
  const { headers } = await server.person();
  const token = new Headers(headers as HeadersInit).get("authorization")!
    .slice(7);
  const client = await hearing(server);
  assert.equal(await callThrough(client, "who"), "ada@acme");
  assert.ok(seen.length > 5);
  assert.ok(token.length > 20);
  for (const it of seen) assert.ok(!it.includes(token));
  assert.doesNotMatch(seen.join(), /mcp-session-id":"(?!session)/);
});
