import assert from "node:assert/strict";
import * as z from "zod";
import { tool, ToolError } from "../../../src/authoring/tool.ts";
import { resource } from "../../../src/authoring/resource.ts";
import { BASE_URL, startServer } from "../../../tests/kit/server.ts";
import type { Json } from "../../../tests/kit/message.ts";
import { until } from "../../../tests/kit/wait.ts";
import { Client, type ClientOptions, type TaskState } from "../mod.ts";

/** Resolved when a client has seen the task of `brew` at work. */
const seen = Promise.withResolvers<void>();
const where = z.object({
  region: z.string().meta({ "x-mcp-header": "Region" }),
  place: z.object({
    floor: z.int().meta({ "x-mcp-header": "Floor" }).optional(),
  }).optional(),
});
const tools = [
  tool({
    name: "place",
    input: where,
    run: ({ region, place }) => `${region} ${place?.floor}`,
  }),
  tool({
    name: "brew",
    input: where,
    task: "required",
    async run({ region }, { progress, signal }) {
      await progress(1, 2, "Brewing");
      if (region === "Assam") await seen.promise;
      if (region === "dry") throw new ToolError("No water");
      if (region === "stuck") {
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      }
      return `Tea from ${region}`;
    },
  }),
  tool({
    name: "order",
    input: z.object({ slow: z.boolean().optional() }),
    async run({ slow }, { ask, progress, signal }) {
      await progress(1, 2, "Asking");
      const answer = await ask({
        message: "Which tea?",
        schema: z.object({ tea: z.string() }),
      });
      if (slow) {
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      }
      return JSON.stringify(answer);
    },
  }),
];
const brewIn = (region: string): Json => ({
  name: "brew",
  arguments: { region },
});
const resources = [
  resource({ uri: "note://tee/grün", name: "note", read: () => "note" }),
];

/** Makes a client of a server, with the headers it sends. */
async function withClient(
  test: (parts: {
    client: Client;
    sent: Headers[];
    told: TaskState[];
    notified: Json[];
  }) => Promise<void>,
  options: Partial<ClientOptions> = {},
): Promise<void> {
  await using server = await startServer({ tools, resources });
  const { tools: listed } = (await (await server.call("tools/list")).json())
    .result;
  const sent: Headers[] = [];
  const told: TaskState[] = [];
  const notified: Json[] = [];
  const client = new Client({
    url: `${BASE_URL}/mcp`,
    tools: listed,
    capabilities: {
      elicitation: { form: {} },
      extensions: { "io.modelcontextprotocol/tasks": {} },
    },
    onTask: (task) => void told.push(task),
    onNotification: (method, params) => void notified.push({ method, params }),
    fetch(request) {
      sent.push(request.headers);
      return server.app.fetch(request);
    },
    ...options,
  });
  await test({ client, sent, told, notified });
  await client.close();
}

for (
  const [what, args, headers, text] of [
    ["plain", { region: "eu 1" }, { region: "eu 1" }, "eu 1 undefined"],
    [
      "nested",
      { region: "eu", place: { floor: -1 } },
      { region: "eu", floor: "-1" },
      "eu -1",
    ],
    ["missing", { region: "eu", place: {} }, { region: "eu" }, "eu undefined"],
    [
      "that no header may hold",
      { region: "Grünau" },
      { region: "=?base64?R3LDvG5hdQ==?=" },
      "Grünau undefined",
    ],
    [
      "that looks encoded",
      { region: "=?base64?YQ==?=" },
      { region: "=?base64?PT9iYXNlNjQ/WVE9PT89?=" },
      "=?base64?YQ==?= undefined",
    ],
    ["empty", { region: "" }, { region: "=?base64??=" }, " undefined"],
  ] as const
) {
  Deno.test(`Client repeats an argument in its header: one ${what}`, () =>
    withClient(async ({ client, sent }) => {
      const { content } = await client.request("tools/call", {
        name: "place",
        arguments: args,
      });
      assert.equal((content as Json)[0].text, text);
      const found = [...sent[0]].filter(([name]) =>
        name.startsWith("mcp-param-")
      ).map(([name, value]) => [name.slice("mcp-param-".length), value]);
      assert.deepEqual(Object.fromEntries(found), headers);
    }));
}

Deno.test("Client reads a resource whose address no header may hold", () =>
  withClient(async ({ client }) => {
    const { contents } = await client.request("resources/read", {
      uri: "note://tee/grün",
    });
    assert.equal((contents as Json)[0].text, "note");
  }));

Deno.test("Client follows a task to its result", () =>
  withClient(async ({ client, told: tasks }) => {
    const called = client.request("tools/call", brewIn("Assam"));
    await until(() => tasks.length > 0);
    seen.resolve();
    const { content } = await called;
    assert.equal((content as Json)[0].text, "Tea from Assam");
    assert.equal(tasks[0].status, "working");
    assert.equal(tasks.at(-1)!.status, "completed");
    assert.equal(tasks.at(-1)!.statusMessage, "1 of 2: Brewing");
  }));

Deno.test("Client gives what a tool says when its task goes wrong", () =>
  withClient(async ({ client }) => {
    const { isError, content } = await client.request(
      "tools/call",
      brewIn("dry"),
    );
    assert(isError);
    assert.equal((content as Json)[0].text, "No water");
  }));

Deno.test("Client says so when a task was cancelled", () =>
  withClient(async ({ client, told: tasks }) => {
    const called = client.request("tools/call", brewIn("stuck"));
    const refused = assert.rejects(called, /The task was cancelled/);
    await until(() => tasks.length > 0);
    await client.begin("tasks/cancel", { taskId: tasks[0].taskId });
    await refused;
  }));

for (const revision of ["2025-11-25", "2026-07-28"] as const) {
  Deno.test(`Client answers what a tool asks in ${revision}, and hears its progress`, () =>
    withClient(async ({ client, notified }) => {
      const { content } = await client.request("tools/call", {
        name: "order",
        arguments: {},
      });
      assert.equal(
        (content as Json)[0].text,
        '{"action":"accept","content":{"tea":"Assam"}}',
      );
      assert.equal(notified[0].method, "notifications/progress");
      assert.equal(notified[0].params.message, "Asking");
    }, {
      revision,
      onQuestion: ({ method, params }) => {
        assert.equal(method, "elicitation/create");
        assert.equal(params.message, "Which tea?");
        return { action: "accept", content: { tea: "Assam" } };
      },
    }));

  Deno.test(`Client rejects in ${revision} with the server's error`, () =>
    withClient(async ({ client }) => {
      await assert.rejects(
        client.request("tools/call", { name: "none" }),
        { message: 'Unknown tool: "none"', code: -32602 },
      );
    }, { revision }));

  Deno.test(`Client cancels in ${revision} when its signal fires`, () =>
    withClient(async ({ client }) => {
      const abort = new AbortController();
      const called = client.request(
        "tools/call",
        { name: "order", arguments: { slow: true } },
        { signal: abort.signal },
      );
      const refused = assert.rejects(called, /enough/);
      await until(() => answered.length > 0);
      abort.abort(new Error("enough"));
      await refused;
    }, {
      revision,
      onQuestion: () => {
        answered.push(revision);
        return { action: "accept", content: { tea: "Assam" } };
      },
    }));
  const answered: string[] = [];
}

Deno.test("Client says what it cannot answer", () =>
  withClient(async ({ client }) => {
    await assert.rejects(
      client.request("tools/call", { name: "order", arguments: {} }),
      /The server asks elicitation\/create: nothing answers here/,
    );
  }));

Deno.test("Client tells what is no answer of an MCP server", async () => {
  const client = new Client({
    url: "http://127.0.0.1/mcp",
    fetch: () =>
      new Response("<h1>Bad gateway</h1>", {
        status: 502,
        headers: { "content-type": "text/html" },
      }),
  });
  await assert.rejects(
    client.request("tools/list"),
    /no JSON-RPC message: 502 text\/html/,
  );
});

/** Makes a client whose server answers each request by its method. */
function clientOf(
  answers: Record<string, (id: unknown, params: Json) => Response>,
  options: Partial<ClientOptions> = {},
): Client {
  return new Client({
    url: "http://127.0.0.1/mcp",
    async fetch(request) {
      const { id, method, params } = await request.json();
      return answers[method](id, params);
    },
    ...options,
  });
}

function answerTo(id: unknown, result: Json): Response {
  return Response.json({ jsonrpc: "2.0", id, result });
}

function streamOf(body: BodyInit): Response {
  const headers = { "content-type": "text/event-stream" };
  return new Response(body, { headers });
}

Deno.test("Client gives up a server that asks without end", async () => {
  let asked = 0;
  const client = clientOf({
    "tools/call": (id) => {
      asked++;
      return answerTo(id, { resultType: "input_required", inputRequests: {} });
    },
  });
  await assert.rejects(
    client.request("tools/call", { name: "order" }),
    /tools\/call is not answered after 100 rounds/,
  );
  assert.equal(asked, 101);
});

Deno.test("Client waits a minute at most between two looks at a task", async () => {
  const waits: unknown[] = [];
  const { setTimeout } = globalThis;
  const abort = new AbortController();
  globalThis.setTimeout = ((run: () => void, wait?: number) => {
    waits.push(wait);
    abort.abort(new Error("seen"));
    return setTimeout(run, 0);
  }) as typeof setTimeout;
  try {
    const client = clientOf({
      "subscriptions/listen": () => streamOf(""),
      "tasks/get": (id) =>
        answerTo(id, { taskId: "t", status: "working", pollIntervalMs: 1e15 }),
    });
    const { signal } = abort;
    await assert.rejects(client.follow({ taskId: "t" }, { signal }), /seen/);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  assert.deepEqual(waits, [60_000]);
});

Deno.test("request() rejects with the signal's reason, though its task cannot be cancelled", async () => {
  const abort = new AbortController();
  const client = clientOf({
    "tools/call": (id) =>
      answerTo(id, { resultType: "task", taskId: "t", status: "working" }),
    "subscriptions/listen": () => {
      abort.abort(new Error("enough"));
      return streamOf("");
    },
    "tasks/cancel": () => new Response("", { status: 503 }),
  });
  await assert.rejects(
    client.request("tools/call", { name: "brew" }, { signal: abort.signal }),
    /enough/,
  );
});

/** Throws in place of a first value. */
// deno-lint-ignore require-yield
async function* failing(error: Error): AsyncGenerator<Uint8Array> {
  throw await error;
}

Deno.test("Client follows a task through a restart of its server", async () => {
  const { setTimeout } = globalThis;
  globalThis.setTimeout =
    ((run: () => void) => setTimeout(run, 0)) as typeof setTimeout;
  const status = (status: number) => () =>
    Promise.resolve(new Response("", { status }));
  const cut = () =>
    Promise.resolve(
      new Response(ReadableStream.from(failing(new TypeError("cut")))),
    );
  const away = [
    () => Promise.reject(new TypeError("refused")),
    () => Promise.reject(new Error("words", { cause: new TypeError("cut") })),
    status(429),
    ...[status(500), cut, status(502)],
    ...[status(503), cut, status(504)],
  ];
  const posted: string[] = [];
  const states = ["input_required", "completed"];
  const answers: Record<string, (id: unknown) => Response> = {
    "subscriptions/listen": () => streamOf(""),
    "tasks/get": (id) =>
      answerTo(id, {
        taskId: "t",
        status: states.shift(),
        inputRequests: { roots: { method: "roots/list" } },
        result: { content: [] },
      }),
    "tasks/update": (id) => answerTo(id, {}),
  };
  const told: boolean[] = [];
  let asked = 0;
  try {
    const client = new Client({
      url: "http://127.0.0.1/mcp",
      onAnswering: (isAnswering) => told.push(isAnswering),
      async fetch(request) {
        const { id, method } = await request.json();
        posted.push(method);
        // Each method fails three times before the server is back.
        const isAway = posted.filter((it) => it === method).length <= 3;
        return await (isAway && away.shift()?.()) || answers[method](id);
      },
      onQuestion: () => ({ roots: [++asked] }),
    });
    const result = await client.follow({ taskId: "t" });
    assert.deepEqual(result, { content: [] });
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  assert.deepEqual([away.length, asked], [0, 1]);
  // For each of the three methods: no server responds, then one does.
  assert.deepEqual(told, [false, true, false, true, false, true]);
});

Deno.test("Client waits as long as a busy server says before it looks at a task again", async () => {
  const { setTimeout } = globalThis;
  const waits: number[] = [];
  globalThis.setTimeout = ((run: () => void, milliseconds: number) => {
    waits.push(milliseconds);
    return setTimeout(run, 0);
  }) as typeof setTimeout;
  try {
    const busy = ["20", "3600", "1"];
    const client = clientOf({
      "subscriptions/listen": () => streamOf(""),
      "tasks/get": () =>
        new Response("", {
          status: 429,
          headers: { "retry-after": busy.shift()! },
        }),
    });
    await assert.rejects(client.follow({ taskId: "t" }), { status: 429 });
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  assert.deepEqual(waits, [20_000, 60_000]);
});

for (
  const [what, state] of [
    ["completed without a result", { status: "completed" }],
    ["a status that is not known", { status: "paused" }],
  ] as const
) {
  Deno.test(`Client gives up a task that has ${what}`, async () => {
    const client = clientOf({
      "subscriptions/listen": () => streamOf(""),
      "tasks/get": (id) => answerTo(id, { taskId: "t", ...state }),
    });
    await assert.rejects(client.follow({ taskId: "t" }), new RegExp(what));
  });
}

Deno.test("Client gives up a task whose server does not come back", async () => {
  const { setTimeout } = globalThis;
  globalThis.setTimeout =
    ((run: () => void) => setTimeout(run, 0)) as typeof setTimeout;
  let posted = 0;
  try {
    const client = new Client({
      url: "http://127.0.0.1/mcp",
      fetch() {
        posted++;
        throw new TypeError("refused");
      },
    });
    await assert.rejects(client.follow({ taskId: "t" }), /refused/);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  assert.equal(posted, 61);
});

Deno.test("Client refuses the answer to another request", async () => {
  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    const client = clientOf({
      initialize: (id) => answerTo(id, {}),
      "notifications/initialized": () => new Response(),
      "notifications/cancelled": () => new Response(),
      "tools/list": () => answerTo("other", { tools: [] }),
    }, { revision });
    await assert.rejects(
      client.request("tools/list"),
      /another request, other/,
    );
  }
});

Deno.test("Client rejects with the error of an HTTP error, whatever its ID", async () => {
  const error = { code: -32600, message: "Missing session ID" };
  const client = clientOf({
    "tools/list": () =>
      Response.json({ id: "server-error", error }, { status: 400 }),
  });
  await assert.rejects(client.request("tools/list"), error);
});

Deno.test("Client rejects in 2025 with the reason, though its request cannot be cancelled", async () => {
  const refused = (words: string) => () => {
    throw new TypeError(words);
  };
  const client = clientOf({
    initialize: (id) => answerTo(id, {}),
    "notifications/initialized": () => new Response(),
    "notifications/cancelled": refused("Nothing was sent"),
    "tools/list": refused("Broken off"),
  }, { revision: "2025-11-25" });
  await assert.rejects(client.request("tools/list"), /Broken off/);
});

Deno.test("Client tells a refusal of OAuth, whose error is no object", async () => {
  const client = clientOf({
    "tools/list": () =>
      Response.json({ error: "invalid_token" }, { status: 401 }),
  });
  await assert.rejects(client.request("tools/list"), {
    message: "The answer is no JSON-RPC message: 401 application/json",
    status: 401,
  });
});

Deno.test("Client reads an event of several lines", async () => {
  const client = clientOf({
    "tools/list": (id) =>
      streamOf(
        `: hello\r\n\r\ndata: {"id":${id},\r\ndata: "result":{"a":1}}\r\n\r\n`,
      ),
  });
  assert.deepEqual(await client.request("tools/list"), { a: 1 });
});

Deno.test("Client reads events that are cut anywhere", async () => {
  const text = `data: {"method":"a"}\r\n\r\n\n\ndata: {"method":"b"}\n\n` +
    `data: {"id":ID,"result":{"c":1}}\n\n`;
  for (let size = 1; size < 9; size++) {
    const heard: string[] = [];
    const client = new Client({
      url: "http://127.0.0.1/mcp",
      onNotification: (method) => heard.push(method),
      async fetch(request) {
        const { id } = await request.json();
        const whole = text.replace("ID", id);
        const parts = whole.match(RegExp(`[^]{1,${size}}`, "g"))!;
        const cut = ReadableStream.from(parts);
        return streamOf(cut.pipeThrough(new TextEncoderStream()));
      },
    });
    assert.deepEqual(await client.request("tools/list"), { c: 1 });
    assert.deepEqual(heard, ["a", "b"]);
  }
});

for (
  const [what, text, most] of [
    ["one message", "x".repeat(2 ** 20), 80],
    ["long messages", `data: {"a":"${"x".repeat(2 ** 20)}"}\n\n`, 144],
    ["comments", ":\n\n".repeat(2 ** 16), 32],
  ] as const
) {
  Deno.test(`Client reads no answer without an end: ${what}`, async () => {
    const part = new TextEncoder().encode(text);
    let parts = 0;
    const client = clientOf({
      "tools/list": () =>
        streamOf(
          new ReadableStream({
            pull: (controller) => {
              parts++;
              controller.enqueue(part);
            },
          }),
        ),
    });
    await assert.rejects(client.request("tools/list"), /is too long/);
    assert(parts < most, `${parts} parts were read`);
  });
}

Deno.test("Client reads no answer that is nested too deep to be walked", async () => {
  const client = clientOf({
    // The message and its result are levels as well.
    "tools/list": (id, { levels }) =>
      streamOf(
        `data: {"jsonrpc":"2.0","id":${id},"result":{"a":` +
          "[".repeat(Number(levels) - 2) + "]".repeat(Number(levels) - 2) +
          "}}\n\n",
      ),
  });
  const read = (levels: number) => client.request("tools/list", { levels });
  await read(500);
  for (const levels of [501, 100_000]) {
    await assert.rejects(read(levels), /is nested deeper than 500 levels: 200/);
  }
});

Deno.test("Client counts neither brackets within strings nor those side by side", async () => {
  const words = `"\\\\${"[{".repeat(600)}\\"${"[".repeat(600)}"`;
  const wide = "[],{},".repeat(1000);
  const client = clientOf({
    "tools/list": (id) =>
      new Response(
        `{"jsonrpc":"2.0","id":${id},"result":{"a":[${wide}${words}]}}`,
        { headers: { "content-type": "application/json" } },
      ),
  });
  const { a } = await client.request("tools/list");
  assert.equal((a as unknown[]).length, 2001);
});

Deno.test("Client answers a ping, and speaks the revision agreed on", async () => {
  const posted: { body: Json; headers: Headers }[] = [];
  const client = new Client({
    url: "http://127.0.0.1/mcp",
    revision: "2025-11-25",
    // This server has no log, and knows no method for it.
    logLevel: "info",
    async fetch(request) {
      const body = await request.json();
      posted.push({ body, headers: request.headers });
      const { id, method } = body;
      if (method === "initialize") {
        return answerTo(id, { protocolVersion: "2025-06-18" });
      }
      if (method !== "tools/list") return new Response(null, { status: 202 });
      const events = [{ id: 9, method: "ping" }, { id, result: { tools: [] } }];
      return streamOf(
        events.map((it) => `data: ${JSON.stringify(it)}\n\n`).join(""),
      );
    },
  });
  assert.deepEqual(await client.request("tools/list"), { tools: [] });
  const { body, headers } = posted.at(-1)!;
  assert.deepEqual(body, { jsonrpc: "2.0", id: 9, result: {} });
  assert.equal(headers.get("mcp-protocol-version"), "2025-06-18");
});

Deno.test("Client ends a request in which a server pings more than a thousand times", async () => {
  let answered = 0;
  const client = new Client({
    url: "http://127.0.0.1/mcp",
    revision: "2025-11-25",
    async fetch(request) {
      const { id, method } = await request.json();
      if (method === "initialize") {
        return answerTo(id, { protocolVersion: "2025-11-25" });
      }
      if (method === undefined) answered++;
      if (method !== "tools/list") return new Response(null, { status: 202 });
      const ping = `data: ${JSON.stringify({ id: 9, method: "ping" })}\n\n`;
      return streamOf(ping.repeat(1500));
    },
  });
  await assert.rejects(client.request("tools/list"), /pings without end/);
  assert.equal(answered, 1000);
});

Deno.test("Client asks for progress only if someone hears it", async () => {
  for (const onNotification of [undefined, () => {}]) {
    const client = new Client({ url: "http://127.0.0.1/mcp", onNotification });
    const { body } = await client.encode("tools/list");
    assert.equal(body.includes("progressToken"), onNotification !== undefined);
  }
});

Deno.test("Client goes on with a session that is open", async () => {
  const client = new Client({
    url: "http://127.0.0.1/mcp",
    revision: "2025-11-25",
    sessionId: "open",
  });
  const { headers } = await client.encode("tools/list");
  assert.equal(headers["mcp-session-id"], "open");
});

for (
  const [what, listen] of [
    ["ends before it", () => streamOf(": nothing\n\n")],
    ["is cut", () =>
      streamOf(
        new ReadableStream({
          pull: (controller) => controller.error(new TypeError("reset")),
        }),
      )],
    ["is not to be had", (id) =>
      Response.json({
        jsonrpc: "2.0",
        id,
        error: { code: -32601, message: "No such method" },
      })],
  ] as [string, (id: unknown) => Response][]
) {
  Deno.test(`Client asks for a task whose stream ${what}`, async () => {
    const states = ["working", "completed"];
    const client = clientOf({
      "tools/call": (id) =>
        answerTo(id, { resultType: "task", taskId: "t", status: "working" }),
      "subscriptions/listen": listen,
      "tasks/get": (id) =>
        answerTo(id, {
          taskId: "t",
          status: states.shift(),
          pollIntervalMs: 100,
          result: { content: [] },
        }),
    });
    const result = await client.request("tools/call", { name: "brew" });
    assert.deepEqual(result, { content: [] });
    assert.deepEqual(states, []);
  });
}

Deno.test("Client cancels the task that its request became", () =>
  withClient(async ({ client, told }) => {
    const abort = new AbortController();
    const called = client.request("tools/call", brewIn("stuck"), {
      signal: abort.signal,
    });
    const refused = assert.rejects(called, /enough/);
    await until(() => told.length > 0);
    abort.abort(new Error("enough"));
    await refused;
    const { taskId } = told[0];
    const { status } = await client.begin("tasks/get", { taskId });
    assert.equal(status, "cancelled");
  }));

Deno.test("list() reads page after page, up to a bound", async () => {
  const client = clientOf({
    "tools/list": (id, { cursor = 0 }) => {
      const page = { tools: [{ name: `t${cursor}` }, "no tool"] };
      const nextCursor = cursor < 3 ? cursor + 1 : undefined;
      return answerTo(id, { ...page, nextCursor });
    },
  });
  const { items, ...all } = await client.list("tools/list", "tools");
  assert.deepEqual(items.map(({ name }) => name), ["t0", "t1", "t2", "t3"]);
  assert.deepEqual(all, { pages: 4, hasMore: false });
  const some = await client.list("tools/list", "tools", 2);
  assert.deepEqual([some.items.length, some.pages, some.hasMore], [2, 2, true]);
});
