/**
 * Calls of a tool at another MCP server: all that passes through them.
 */
import assert from "node:assert/strict";
import type { ClientOptions } from "../../../packages/client/mod.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { DISCOVERED, events, McpService } from "../../kit/mcp_service.ts";
import {
  callThrough,
  connectThere,
  hearing,
  startThrough,
} from "../../kit/mcp_through.ts";
import type { Json } from "../../kit/message.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";

const GENERATIONS = ["2025", "2026"] as const;
const TEXT = (text: string) => ({ content: [{ type: "text", text }] });

/** Starts a server with a connected account, and a client that hears. */
async function started(
  service: McpService,
  options: Partial<ClientOptions> = {},
  more: Parameters<typeof startThrough>[1] = {},
) {
  const server: OAuthServer = await startThrough(service, more);
  await connectThere(server, service);
  return { server, client: await hearing(server, options) };
}

/** Makes a tool that asks once, in the way of its generation. */
function asking(service: McpService, method: string, asked: Json) {
  const answers: Json[] = [];
  service.tools.asks = ({ params, id, request: _ }) => {
    if (service.generation === "2026") {
      const { inputResponses } = params;
      if (inputResponses) {
        answers.push(inputResponses.one);
        return TEXT("done");
      }
      return {
        resultType: "input_required",
        inputRequests: { one: { method, params: asked } },
        requestState: "state",
      };
    }
    const { readable, writable } = new TransformStream<Uint8Array>();
    const writer = writable.getWriter();
    let isGone = false;
    writer.closed.catch(() => isGone = true);
    const send = (message: Json) =>
      writer.write(new TextEncoder().encode(
        `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`,
      ));
    (async () => {
      await send({ id: "ask", method, params: asked });
      const find = () =>
        service.messages.find((it) => it.id === "ask" && !it.method);
      await until(() => isGone || find() !== undefined);
      if (isGone) return;
      answers.push(find()!.result);
      await send({ id, result: TEXT("done") });
      await writer.close();
    })().catch(() => {});
    return new Response(readable, {
      headers: { "content-type": "text/event-stream" },
    });
  };
  return answers;
}

for (const generation of GENERATIONS) {
  Deno.test(`progress of a server of ${generation} goes to our caller, and to no other call`, async () => {
    await using service = new McpService(generation);
    service.tools.slow = ({ params, id }) =>
      events(
        ...[1, 2].map((progress) => ({
          method: "notifications/progress",
          params: {
            progressToken: params._meta.progressToken,
            progress,
            total: 2,
            message: "half\u0007way",
          },
        })),
        { id, result: TEXT("done") },
      );
    const heard: Json[] = [];
    const { server, client } = await started(service, {
      onNotification: (_, params) => void heard.push(params),
    });
    await using _ = server;
    assert.equal(await callThrough(client, "slow"), "done");
    assert.deepEqual(
      heard.map(({ progress, total, message }) => [progress, total, message]),
      [[1, 2, "halfway"], [2, 2, "halfway"]],
    );
  });

  Deno.test(`a form of a server of ${generation} is asked of our caller, in the server's name`, async () => {
    await using service = new McpService(generation);
    const requestedSchema = {
      type: "object",
      properties: { sure: { type: "boolean" } },
      required: ["sure"],
    };
    const answers = asking(service, "elicitation/create", {
      message: "Really?",
      requestedSchema,
    });
    const asked: Json[] = [];
    const { server, client } = await started(service, {
      onQuestion(question) {
        asked.push(question.params);
        return { action: "accept", content: { sure: true } };
      },
    });
    await using _ = server;
    assert.equal(await callThrough(client, "asks"), "done");
    assert.equal(asked[0].message, "Other asks: Really?");
    assert.deepEqual(answers.at(-1), {
      action: "accept",
      content: { sure: true },
    });
  });

  Deno.test(`a page of a server of ${generation} is a link to our caller, and opened by no one here`, async () => {
    await using service = new McpService(generation);
    const url = `${service.origin}/page`;
    asking(service, "elicitation/create", {
      mode: "url",
      message: "Pay",
      elicitationId: "1",
      url,
    });
    const asked: Json[] = [];
    const { server, client } = await started(service, {
      onQuestion(question) {
        asked.push(question.params);
        return { action: "accept" };
      },
    });
    await using _ = server;
    assert.equal(await callThrough(client, "asks"), "done");
    assert.equal(asked[0].url, url);
    assert.equal(service.asked.includes("/page"), false);
  });

  for (
    const [method, given] of [
      ["sampling/createMessage", {
        sample: () => ({
          model: "own",
          role: "assistant" as const,
          content: { type: "text" as const, text: "tea" },
        }),
      }],
      ["roots/list", { roots: () => [{ uri: "file:///a" }] }],
    ] as const
  ) {
    Deno.test(`${method} of a server of ${generation} is refused, unless the author gives it`, async () => {
      await using service = new McpService(generation);
      const answers = asking(service, method, {});
      const { server, client } = await started(service);
      await using _ = server;
      assert.match(
        await callThrough(client, "asks"),
        new RegExp(`Other asks for ${method}, which is not given`),
      );
      assert.deepEqual(answers, []);
      await using giving = new McpService(generation);
      const got = asking(giving, method, {});
      const its = await started(giving, {}, { call: given });
      await using __ = its.server;
      assert.equal(await callThrough(its.client, "asks"), "done");
      assert.match(JSON.stringify(got), /tea|file:\/\/\/a/);
    });
  }

  Deno.test(`a call that our caller cancels is cancelled at a server of ${generation}`, async () => {
    await using service = new McpService(generation);
    let ended = false;
    const began = Promise.withResolvers<void>();
    service.tools.slow = () => {
      began.resolve();
      return new Response(
        new ReadableStream({
          start: (it) => it.enqueue(new TextEncoder().encode(": wait\n\n")),
          cancel: () => void (ended = true),
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    };
    const { server, client } = await started(service);
    await using _ = server;
    const abort = new AbortController();
    const call = callThrough(client, "slow", undefined, abort.signal);
    call.catch(() => {});
    await began.promise;
    abort.abort();
    await assert.rejects(call);
    await until(() => ended);
    if (generation === "2026") return;
    await until(() =>
      service.messages.some(({ method }) =>
        method === "notifications/cancelled"
      )
    );
  });
}

Deno.test("a session of 2025 that has ended there is opened again, once", async () => {
  await using service = new McpService("2025");
  const { server, client } = await started(service);
  await using _ = server;
  assert.equal(await callThrough(client, "who"), "ada@acme");
  service.sessions.clear();
  assert.equal(await callThrough(client, "who"), "ada@acme");
  assert.equal(service.sessions.size, 1);
  service.answer = (request, path) =>
    path === "/mcp" && request.method === "POST" &&
      request.headers.has("mcp-session-id")
      ? Response.json({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32001, message: "No such session" },
      }, { status: 404 })
      : undefined;
  const before = service.sessions.size;
  assert.match(await callThrough(client, "who"), /No such session|no use/);
  assert.ok(service.sessions.size <= before + 1);
});

for (
  const [status, code, id, message] of [
    [404, -32600, "server-error", "Session not found"],
    [400, -32600, "server-error", "Bad Request: No valid session ID provided"],
    [400, -32000, null, "Bad Request: No valid session ID provided"],
    [400, -32000, null, "Bad Request: Server not initialized"],
    [400, 0, undefined, "Bad Request: No valid session ID provided"],
  ] as const
) {
  Deno.test(`a 2025 server that refuses a session with ${status}, the ID ${id} and "${message}" is called in a new one`, async () => {
    await using service = new McpService("2025");
    service.answer = async (request, path) => {
      const session = request.headers.get("mcp-session-id");
      const isOurs = path === "/mcp" && request.headers.has("authorization");
      if (!isOurs || service.sessions.has(`${session}`)) return undefined;
      const { method } = await request.clone().json();
      if (method === "initialize") return undefined;
      const error = { code, message: "Bad Request: Missing session ID" };
      if (session === null) {
        return Response.json({ jsonrpc: "2.0", id, error }, { status: 400 });
      }
      if (code === 0) return new Response(message, { status });
      error.message = message;
      return Response.json({ jsonrpc: "2.0", id, error }, { status });
    };
    const { server, client } = await started(service);
    await using _ = server;
    for (let round = 0; round < 2; round++) {
      service.sessions.clear();
      assert.equal(await callThrough(client, "who"), "ada@acme");
      assert.equal(service.sessions.size, 1);
    }
  });
}

for (
  const [before, after, error] of [
    ["2025", "2026", {
      code: -32022,
      message: "Unsupported protocol version",
      data: { supported: ["2026-07-28"] },
    }],
    ["2026", "2025", {
      code: -32000,
      message: "Bad Request: Server not initialized",
    }],
    ["2026", "2025", {
      code: -32600,
      message: "Bad Request: Unsupported protocol version: 2026-07-28",
    }],
  ] as const
) {
  Deno.test(`a server that went from ${before} to ${after} and says "${error.message}" is called in that generation`, async () => {
    await using service = new McpService(before);
    let refusals = 0;
    service.answer = (request, path) => {
      const revision = request.headers.get("mcp-protocol-version");
      const isNew = revision === "2026-07-28";
      const isOurs = path === "/mcp" && request.headers.has("authorization");
      if (!isOurs || isNew === (service.generation === "2026")) {
        return undefined;
      }
      refusals++;
      return Response.json({ jsonrpc: "2.0", id: null, error }, {
        status: 400,
      });
    };
    const { server, client } = await started(service);
    await using _ = server;
    assert.equal(await callThrough(client, "who"), "ada@acme");
    service.generation = after;
    refusals = 0;
    assert.equal(await callThrough(client, "who"), "ada@acme");
    assert.equal(await callThrough(client, "who"), "ada@acme");
    assert.equal(refusals, after === "2026" ? 1 : 2);
  });
}

for (const status of [500, 501, 502, 503, 504]) {
  Deno.test(`a 2025 server that answers the question for its generation with ${status} is ${status > 501 ? "asked again by the next call" : "called in a session"}`, async () => {
    await using service = new McpService("2025");
    service.answer = async (request, path) => {
      if (path !== "/mcp" || !request.headers.has("authorization")) return;
      const { method } = await request.clone().json();
      if (method !== "server/discover") return undefined;
      return new Response("Cannot read properties of undefined", { status });
    };
    const { server, client } = await started(service);
    await using _ = server;
    const said = await callThrough(client, "who");
    assert.equal(said, status > 501 ? `Other answered ${status}.` : "ada@acme");
  });
}

Deno.test("arguments that a 2026 server wants as headers too are sent so, once it has said that they are missing", async () => {
  await using service = new McpService();
  const listed = {
    name: "regional",
    inputSchema: {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
    },
  };
  service.tools.regional = ({ params, id, request }) =>
    request.headers.get("mcp-param-region") === params.arguments.region
      ? TEXT(params.arguments.region)
      : Response.json({
        jsonrpc: "2.0",
        id,
        error: { code: -32020, message: "Mcp-Param-Region is missing" },
      }, { status: 400 });
  let isThere = true;
  service.answer = async (request, path) => {
    if (path !== "/mcp") return undefined;
    const { id, method } = await request.clone().json();
    if (method !== "tools/list") return undefined;
    service.messages.push({ method });
    const tools = isThere ? [{ name: "other" }, listed] : [];
    return Response.json({ jsonrpc: "2.0", id, result: { tools } });
  };
  const { server, client } = await started(service);
  await using _ = server;
  const methods = () => service.messages.map(({ method }) => method);
  const call = (region: string) => callThrough(client, "regional", { region });
  assert.equal(await call("EU"), "EU");
  const [, ...first] = methods();
  assert.deepEqual(first, ["tools/call", "tools/list", "tools/call"]);
  // From then on it is one request.
  assert.equal(await call("US"), "US");
  assert.deepEqual(methods().slice(4), ["tools/call"]);

  // A server that is never content is asked once more, and no further.
  listed.inputSchema.properties.region["x-mcp-header"] = "Other";
  isThere = false;
  service.tools.regional = ({ id }) =>
    Response.json({
      jsonrpc: "2.0",
      id,
      error: { code: -32020, message: "Mcp-Param-Other is missing" },
    }, { status: 400 });
  assert.match(await call("EU"), /-32020.*Mcp-Param-Other is missing/);
  assert.deepEqual(methods().slice(5), [
    "tools/call",
    "tools/list",
    "tools/call",
  ]);
});

Deno.test("what is asked for before a call takes nothing of what the call may answer", async () => {
  await using service = new McpService();
  const long = "a".repeat(5000);
  const text = "b".repeat(1500);
  const listed = {
    name: "regional",
    inputSchema: {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
    },
  };
  service.tools.regional = ({ id, request }) =>
    request.headers.has("mcp-param-region") ? TEXT(text) : Response.json({
      jsonrpc: "2.0",
      id,
      error: { code: -32020, message: "Mcp-Param-Region is missing" },
    }, { status: 400 });
  service.tools.much = () => TEXT(long);
  service.answer = async (request, path) => {
    if (path !== "/mcp") return undefined;
    const { id, method } = await request.clone().json();
    const result = {
      "tools/list": { tools: [listed, { name: long }] },
      "server/discover": { ...DISCOVERED, instructions: long },
    }[method as string];
    return result && Response.json({ jsonrpc: "2.0", id, result });
  };
  await using server = await startThrough(service, {
    call: { maxBytes: 2000 },
  });
  await connectThere(server, service);
  const client = await hearing(server);
  const input = { region: "EU" };
  assert.equal(await callThrough(client, "regional", input), text);
  assert.match(await callThrough(client, "much"), /more than 2000 bytes/);
});

for (
  const [status, code, message] of [
    [400, -32020, "a missing header"],
    [400, -32602, "a session ID of its own"],
    [400, -32000, "words of its own"],
    [200, -32000, "a session ID of its own"],
    [400, -32000, "Pump not initialized"],
  ] as const
) {
  Deno.test(`a 2025 server that refuses with ${status}, ${code} and ${message} is called once`, async () => {
    await using service = new McpService("2025");
    let calls = 0;
    service.tools.act = ({ id }) => {
      calls++;
      const error = { code, message };
      return Response.json({ jsonrpc: "2.0", id, error }, { status });
    };
    const { server, client } = await started(service);
    await using _ = server;
    const said = await callThrough(client, "act");
    assert.match(said, new RegExp(message));
    assert.equal(calls, 1);
    // The words may be true: then the next call is made in a new session.
    const isDoubtful = message.startsWith("Pump");
    assert.equal(/It may have been done/.test(said), isDoubtful);
    await callThrough(client, "act");
    assert.equal(service.sessions.size, isDoubtful ? 2 : 1);
  });
}

/** Makes a tool that begins a task, and what answers each look at the task. */
function beginning(
  service: McpService,
  look: (id: unknown) => Response | Json,
): { begun: number } {
  const counts = { begun: 0 };
  service.tools.long = () => {
    counts.begun++;
    return {
      resultType: "task",
      taskId: "t1",
      status: "working",
      createdAt: new Date().toISOString(),
      ttlMs: null,
    };
  };
  service.answer = async (request, path) => {
    if (path !== "/mcp" || request.method !== "POST") return undefined;
    const { id, method } = await request.clone().json();
    if (method === "subscriptions/listen") {
      return events({ id, error: { code: -32601, message: "none" } });
    }
    if (method !== "tasks/get") return undefined;
    const answer = look(id);
    return answer instanceof Response
      ? answer
      : Response.json({ jsonrpc: "2.0", id, ...answer });
  };
  return counts;
}

Deno.test("a task of a 2026 server is followed to its end", async () => {
  await using service = new McpService();
  beginning(service, () => ({
    result: { taskId: "t1", status: "completed", result: TEXT("at last") },
  }));
  const { server, client } = await started(service);
  await using _ = server;
  assert.equal(await callThrough(client, "long"), "at last");
});

Deno.test("a task that fails there has the words of its end", async () => {
  await using service = new McpService();
  const error = { code: -32000, message: "Out of tea" };
  beginning(service, () => ({
    result: { taskId: "t1", status: "failed", error },
  }));
  const { server, client } = await started(service);
  await using _ = server;
  assert.equal(
    await callThrough(client, "long"),
    "Other refused the call (-32000): Out of tea",
  );
});

const BAD = { status: 400 };
for (
  const [what, look] of [
    ["no session", (id) =>
      Response.json({
        jsonrpc: "2.0",
        id: null,
        error: { code: -32000, message: `No session for ${id}` },
      }, BAD)],
    ["another generation", (id) =>
      Response.json({
        jsonrpc: "2.0",
        id,
        error: {
          code: -32022,
          message: "Unsupported",
          data: { supported: ["2025-11-25"] },
        },
      }, BAD)],
    ["no such task", () => ({ error: { code: -32602, message: "No task" } })],
    ["401", () => new Response("", { status: 401 })],
    ["403", () => new Response("", { status: 403 })],
    ["404", () => new Response("", { status: 404 })],
    ["a cancelled task", () => ({
      result: { taskId: "t1", status: "cancelled" },
    })],
    ["a task without a result", () => ({
      result: { taskId: "t1", status: "completed" },
    })],
  ] as [string, (id: unknown) => Response | Json][]
) {
  Deno.test(`a call that became a task is not sent again, and may have been done, if the look at it gives ${what}`, async () => {
    await using service = new McpService();
    const counts = beginning(service, look);
    const { server, client } = await started(service);
    await using _ = server;
    const said = await callThrough(client, "long");
    assert.match(said, /^Other .*It may have been done/s);
    assert.doesNotMatch(said, /again|later|\(20\)/);
    assert.equal(counts.begun, 1);
  });
}

Deno.test("a call that became a task may have been done if its account is disconnected", async () => {
  using time = new FakeTime();
  await using service = new McpService();
  const counts = beginning(service, () => ({}));
  const { server, client } = await started(service);
  await using _ = server;
  const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
  const { long } = service.tools;
  service.tools.long = async (call) => {
    await visitor.press("/account/accounts/disconnect");
    time.tick(2);
    return await long(call);
  };
  assert.equal(
    await callThrough(client, "long"),
    "Other is not connected any more. It may have been done all the same: " +
      "check before you repeat it.",
  );
  assert.equal(counts.begun, 1);
});

Deno.test("a call that became a task may have been done if its token cannot be replaced", async () => {
  await using service = new McpService();
  const counts = beginning(service, () => new Response("", { status: 401 }));
  const { server, client } = await started(service);
  await using _ = server;
  const { answer } = service;
  service.answer = (request, path) =>
    path === "/token"
      ? new Response("", { status: 503 })
      : answer!(request, path);
  assert.match(
    await callThrough(client, "long"),
    /does not give access now.* It may have been done/,
  );
  assert.equal(counts.begun, 1);
});

for (const status of [408, 499]) {
  Deno.test(`a call that is answered ${status} may have been done`, async () => {
    await using service = new McpService();
    service.tools.act = () => new Response("", { status });
    const { server, client } = await started(service);
    await using _ = server;
    assert.match(
      await callThrough(client, "act"),
      new RegExp(`answered ${status}\\. It may have been done`),
    );
  });
}

Deno.test("a 2025 call that takes no answer any more may have been done", async () => {
  await using service = new McpService("2025");
  service.tools.asks = () => events({ id: "ask", method: "ping" });
  const { server, client } = await started(service);
  await using _ = server;
  service.answer = async (request) => {
    const isAnswer = (await request.clone().text()).includes('"id":"ask"');
    return isAnswer ? new Response("", { status: 401 }) : undefined;
  };
  const said = await callThrough(client, "asks");
  assert.match(said, /does not take the person's account now\. It may have/);
});

Deno.test("known kinds of content come back, without _meta and other blocks", async () => {
  await using service = new McpService();
  const content = [
    { type: "text", text: "one", annotations: { priority: 1 } },
    { type: "image", data: "aGk=", mimeType: "image/png" },
    { type: "resource", resource: { uri: "a://b", text: "c" } },
    { type: "resource_link", uri: "https://other.example/x", name: "x" },
  ];
  service.tools.all = () => ({
    content: [
      { ...content[0], _meta: { a: 1 } },
      ...content.slice(1),
      { type: "script", code: "x" },
      { type: "image", data: 1 },
    ],
    structuredContent: { a: [1] },
    _meta: { "io.modelcontextprotocol/related-task": { taskId: "theirs" } },
  });
  const { server, client } = await started(service);
  await using _ = server;
  const result = await client.request("tools/call", {
    name: "through",
    arguments: { tool: "all" },
  });
  assert.deepEqual(result.content, content);
  assert.deepEqual(result.structuredContent, { a: [1] });
  assert.doesNotMatch(JSON.stringify(result._meta ?? {}), /theirs/);
});

Deno.test("a tool that fails there fails here, with its words", async () => {
  await using service = new McpService();
  service.tools.fails = () => ({ ...TEXT("No such issue"), isError: true });
  const { server, client } = await started(service);
  await using _ = server;
  const { isError, content } = await client.request("tools/call", {
    name: "through",
    arguments: { tool: "fails" },
  });
  assert.equal(isError, true);
  assert.equal((content as Json[])[0].text, "Other: No such issue");
  assert.match(
    await callThrough(client, "none"),
    /Other refused the call \(-32602\): Unknown tool: none/,
  );
});

Deno.test("a token that is over is replaced", async () => {
  await using service = new McpService();
  const { server, client } = await started(service);
  await using _ = server;
  for (const grant of service.grants) grant.access.clear();
  assert.equal(await callThrough(client, "who"), "ada@acme");
  const refresh = service.forms.at(-1)!;
  assert.equal(refresh.get("grant_type"), "refresh_token");
  assert.equal(refresh.get("resource"), service.url);
});

Deno.test("an account that the server takes no more is asked for again", async () => {
  await using service = new McpService();
  const asked: Json[] = [];
  const { server, client } = await started(service, {
    onQuestion(question) {
      asked.push(question.params);
      return { action: "decline" };
    },
  });
  await using _ = server;
  for (const grant of service.grants) {
    grant.isEnded = true;
    grant.access.clear();
  }
  assert.match(
    await callThrough(client, "who"),
    /not asked to connect it then/,
  );
  assert.match(await callThrough(client, "who"), /has not connected Other/);
  assert.match(asked[0].url, /\/connect\/crm/);
});
