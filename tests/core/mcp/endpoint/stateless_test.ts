/** The requirements of 2026-07-28 for `/mcp`. */
import assert from "node:assert/strict";
import { ChallengeError, HttpError } from "../../../../src/core/errors.ts";
import type { Context } from "../../../../src/authoring/context.ts";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { Meta } from "../../../../src/core/protocol/request_meta.ts";
import {
  isStream,
  messagesOf,
  outcome,
  refusal,
  resultOf,
  textOf,
} from "../../../kit/answer.ts";
import { rpc, statelessMeta } from "../../../kit/message.ts";
import { startServer } from "../../../kit/server.ts";
import { CATALOGUE } from "./catalogue.ts";

function start() {
  return startServer(CATALOGUE);
}

const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

const HEADERS = {
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/list",
};

Deno.test("server/discover tells who is here and what is offered", async () => {
  await using server = await start();
  const { _meta, capabilities, ...rest } = await resultOf(
    server.call("server/discover"),
  );
  assert.deepEqual(rest, {
    resultType: "complete",
    supportedVersions: REVISIONS,
    ttlMs: 300_000,
    cacheScope: "public",
  });
  assert.deepEqual(Object.keys(capabilities), [
    "tools",
    "resources",
    "prompts",
    "completions",
    "logging",
    "extensions",
  ]);
  assert.equal(_meta[Meta.serverInfo].name, "tool-server");
});

Deno.test("no session is made, looked for or named", async () => {
  await using server = await start();
  const response = await server.call("tools/list", {}, {
    headers: { "mcp-session-id": "unknown", "last-event-id": "1" },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("mcp-session-id"), null);
  await response.body?.cancel();
});

Deno.test("every result names its type and its server", async () => {
  await using server = await start();
  for (
    const [method, params] of [
      ["server/discover", {}],
      ["tools/list", {}],
      ["resources/list", {}],
      ["resources/templates/list", {}],
      ["prompts/list", {}],
      ["tools/call", { name: "greet", arguments: { name: "Ada" } }],
      ["tools/call", { name: "fail" }],
      ["resources/read", { uri: "notes://all" }],
      ["prompts/get", { name: "review", arguments: { code: "f" } }],
      ["completion/complete", {
        ref: { type: "ref/prompt", name: "review" },
        argument: { name: "code", value: "f" },
      }],
    ] as const
  ) {
    const result = await resultOf(server.call(method, params));
    assert.equal(result.resultType, "complete", method);
    assert.equal(result._meta[Meta.serverInfo].name, "tool-server", method);
  }
});

Deno.test("cacheable results say for how long and for whom", async () => {
  await using server = await start();
  for (
    const [ttlMs, cacheScope, method, params] of [
      [300_000, "public", "server/discover", {}],
      [300_000, "public", "tools/list", {}],
      [300_000, "public", "resources/list", {}],
      [300_000, "public", "resources/templates/list", {}],
      [300_000, "public", "prompts/list", {}],
      [5_000, "public", "resources/read", { uri: "notes://all" }],
      [0, "private", "resources/read", { uri: "notes://1" }],
      [undefined, undefined, "tools/call", { name: "list" }],
    ] as const
  ) {
    const result = await resultOf(server.call(method, params));
    assert.equal(result.ttlMs, ttlMs, method);
    assert.equal(result.cacheScope, cacheScope, method);
  }
});

Deno.test("structured results need not be objects", async () => {
  await using server = await start();
  const result = await resultOf(server.call("tools/call", { name: "list" }));
  assert.deepEqual(result.structuredContent, [1, 2]);
});

for (
  const [what, meta] of Object.entries({
    "a revision": { [Meta.protocolVersion]: undefined },
    "capabilities": { [Meta.clientCapabilities]: undefined },
  })
) {
  Deno.test(`a request whose _meta lacks ${what} is 400 / -32602`, async () => {
    await using server = await start();
    const answer = server.call("tools/list", {}, { meta });
    assert.equal(await refusal(answer), "400 -32602");
  });
}

Deno.test("a revision that is not spoken is 400 / -32022 and names those that are", async () => {
  await using server = await start();
  const { status, error } = await outcome(
    server.call("tools/list", {}, {
      meta: { [Meta.protocolVersion]: "2027-01-01" },
      headers: { "mcp-protocol-version": "2027-01-01" },
    }),
  );
  assert.deepEqual([status, error.code, error.data], [400, -32022, {
    supported: REVISIONS,
    requested: "2027-01-01",
  }]);
});

Deno.test("a revision that differs from its header is a mismatch first", async () => {
  await using server = await start();
  const answer = server.call("tools/list", {}, {
    meta: { [Meta.protocolVersion]: "2027-01-01" },
  });
  assert.equal(await refusal(answer), "400 -32020");
});

const GREET = { name: "greet", arguments: { name: "Ada" } };

for (const missing of ["mcp-protocol-version", "mcp-method", "mcp-name"]) {
  Deno.test(`a missing ${missing} is 400 / -32020`, async () => {
    await using server = await start();
    const headers = new Headers({
      ...HEADERS,
      "mcp-method": "tools/call",
      "mcp-name": "greet",
    });
    headers.delete(missing);
    const body = rpc("tools/call", { ...GREET, _meta: statelessMeta() });
    const answer = server.post(body, Object.fromEntries(headers));
    assert.equal(await refusal(answer), "400 -32020");
  });
}

Deno.test("an encoded name is decoded before it is compared", async () => {
  await using server = await start();
  const headers = { "mcp-name": `=?base64?${btoa("greet")}?=` };
  assert.equal(
    await textOf(server.call("tools/call", GREET, { headers })),
    "Hello, Ada",
  );
});

Deno.test("x-mcp-header arguments must be repeated in their headers", async () => {
  await using server = await start();
  const call = (
    args: Record<string, unknown>,
    headers: Record<string, string>,
  ) =>
    server.call("tools/call", { name: "route", arguments: args }, { headers });
  const region = { region: "west" };
  const named = { "mcp-param-region": "west" };
  assert.equal((await outcome(call(region, named))).status, 200);
  const both = { ...region, shard: 7 };
  const numbered = { ...named, "mcp-param-shard": "7.0" };
  assert.equal((await outcome(call(both, numbered))).status, 200);
  for (
    const [args, headers] of [
      [region, {}],
      [region, { "mcp-param-region": "east" }],
      [region, { ...named, "mcp-param-shard": "7" }],
      [{ ...region, shard: null }, { ...named, "mcp-param-shard": "null" }],
      [both, { ...named, "mcp-param-shard": "8" }],
    ] as const
  ) assert.equal(await refusal(call(args, headers)), "400 -32020");
});

Deno.test("what 2026 does not have is 404 / -32601", async () => {
  await using server = await start();
  for (
    const method of [
      "initialize",
      "ping",
      "logging/setLevel",
      "resources/subscribe",
      "resources/unsubscribe",
      "tasks/result",
      "tasks/list",
      "nonsense",
    ]
  ) {
    const params = { taskId: "a" };
    const answer = await refusal(server.call(method, params));
    assert.equal(answer, "404 -32601", method);
  }
});

Deno.test("what does not exist is -32602, and never -32002", async () => {
  await using server = await start();
  for (
    const [method, params] of [
      ["tools/call", { name: "none" }],
      ["prompts/get", { name: "none" }],
      ["resources/read", { uri: "other://x" }],
      ["resources/read", { uri: "notes://none" }],
      ["tools/list", { cursor: "none" }],
    ] as const
  ) assert.equal(await refusal(server.call(method, params)), "200 -32602");
});

Deno.test("the header alone makes a message one of 2026", async () => {
  await using server = await start();
  const session = await server.openSession();
  const answer = session.post(rpc("tools/list"), HEADERS);
  assert.equal(await refusal(answer), "400 -32602");
});

Deno.test("arrays and posted responses are 400 / -32600", async () => {
  await using server = await start();
  const message = rpc("tools/list", { _meta: statelessMeta() });
  assert.equal(await refusal(server.post([message])), "400 -32600");
  assert.equal(await refusal(server.post([], HEADERS)), "400 -32600");
  const response = { jsonrpc: "2.0", id: 1, result: {} };
  assert.equal(await refusal(server.post(response, HEADERS)), "400 -32600");
});

Deno.test("a notification is accepted", async () => {
  await using server = await start();
  const response = await server.post({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: 1, _meta: statelessMeta() },
  }, HEADERS);
  assert.deepEqual([response.status, response.body], [202, null]);
});

Deno.test("log messages come only to who names a level, from that level up", async () => {
  await using server = await start();
  const heard = async (meta: Record<string, unknown>) => {
    const params = { name: "report" };
    const messages = await messagesOf(
      await server.call("tools/call", params, { meta }),
    );
    return messages.flatMap(({ params }) => params?.level ?? []);
  };
  assert.deepEqual(await heard({}), []);
  assert.deepEqual(await heard({ [Meta.logLevel]: "debug" }), [
    "debug",
    "warning",
  ]);
  assert.deepEqual(await heard({ [Meta.logLevel]: "error" }), []);
});

Deno.test("a client capability that was not declared is 400 / -32021", async () => {
  const ask = tool({
    name: "ask",
    run: async (_input, { roots }) => `${(await roots()).length}`,
  });
  await using server = await startServer({ tools: [ask] });
  const response = await server.call("tools/call", { name: "ask" });
  assert.equal(isStream(response), false);
  const { status, error } = await outcome(response);
  assert.deepEqual([status, error.code, error.data], [400, -32021, {
    requiredCapabilities: { roots: {} },
  }]);
});

Deno.test("no refusal of 2026 carries a code of older implementations", async () => {
  const env = { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "s".repeat(32) };
  await using server = await startServer({ env });
  const authorization = `Bearer ${env.BEARER_TOKEN}`;
  for (
    const [expected, headers] of [
      ["401 -32600", {}],
      ["403 -32600", { origin: "https://evil.example" }],
      ["406 -32600", { authorization, accept: "application/json" }],
      ["415 -32600", { authorization, "content-type": "text/plain" }],
    ] as const
  ) {
    const refused = server.call("tools/list", {}, { headers });
    assert.equal(await refusal(refused), expected);
  }
});

Deno.test("what HTTP has a word for passes through a tool", async () => {
  const busy = tool({
    name: "busy",
    run: () => {
      throw new HttpError(503, "The provider is away");
    },
  });
  const stranger = tool({
    name: "stranger",
    run: () => {
      throw new ChallengeError("The provider's grant is dead", "invalid_token");
    },
  });
  await using server = await startServer({ tools: [busy, stranger] });
  const away = await server.call("tools/call", { name: "busy" });
  assert.equal(away.headers.get("retry-after"), "5");
  assert.equal(await refusal(away), "503 -32603");
  const dead = await server.call("tools/call", { name: "stranger" });
  assert.match(dead.headers.get("www-authenticate")!, /^Bearer/);
  assert.equal(await refusal(dead), "401 -32600");
});

for (
  const [what, error, words] of [
    [
      "a provider that does not answer",
      new HttpError(503, "The provider is away"),
      "The provider is away. Send the request again in 5 s",
    ],
    [
      "a sign-in that has ended",
      new ChallengeError("The sign-in has ended", "invalid_token"),
      "The sign-in has ended. Send the request again by itself: the answer tells how to sign in",
    ],
    [
      "what has no remedy",
      new HttpError(409, "Someone else has it"),
      "Someone else has it",
    ],
  ] as const
) {
  Deno.test(`${what} in a streamed answer is a failure that says what to do`, async () => {
    const fail = async ({ progress }: Context) => {
      await progress(1);
      throw error;
    };
    const late = tool({ name: "late", run: (_, context) => fail(context) });
    const page = prompt({ name: "page", get: (_, context) => fail(context) });
    await using server = await startServer({ tools: [late], prompts: [page] });
    const session = await server.openSession();
    const _meta = { progressToken: 1 };
    for (
      const response of [
        await server.call("tools/call", { name: "late" }, { meta: _meta }),
        await session.request("tools/call", { name: "late", _meta }),
      ]
    ) {
      const { result } = (await messagesOf(response)).at(-1);
      assert.equal(result.isError, true);
      assert.equal(result.content[0].text, words);
    }
    for (
      const response of [
        await server.call("prompts/get", { name: "page" }, { meta: _meta }),
        await session.request("prompts/get", { name: "page", _meta }),
      ]
    ) {
      const { error } = (await messagesOf(response)).at(-1);
      assert.deepEqual(error, { code: -32603, message: words });
    }
  });
}

Deno.test("a prompt with the name of a tool needs none of the tool's headers", async () => {
  const named = prompt({ name: "route", get: () => "Which way?" });
  await using server = await startServer({ ...CATALOGUE, prompts: [named] });
  const { messages } = await resultOf(
    server.call("prompts/get", { name: "route", arguments: { region: "eu" } }),
  );
  assert.equal(messages.length, 1);
});

Deno.test("a message that claims a revision with sessions is of that, unless its header says 2026", async () => {
  await using server = await startServer(CATALOGUE);
  const session = await server.openSession();
  const _meta = { [Meta.protocolVersion]: "2025-11-25" };
  assert.deepEqual(await resultOf(session.request("ping", { _meta })), {});
  const header = { "mcp-protocol-version": "2026-07-28" };
  const answer = session.post(rpc("tools/list", { _meta }), header);
  assert.equal(await refusal(answer), "400 -32020");
});
