/** `AUTH_ANONYMOUS`: the rights of strangers, and their limits. */
import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../src/authoring/prompt.ts";
import { resource } from "../../src/authoring/resource.ts";
import { tool } from "../../src/authoring/tool.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import { type HeadersOf, initialize, type Json, rpc } from "../kit/message.ts";
import { resultOf, statusOf, textOf } from "../kit/answer.ts";
import { BASE_URL, startServer } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../kit/sign_in.ts";

const tools = [
  tool({ name: "whoami", run: (_, { caller }) => JSON.stringify(caller) }),
  tool({ name: "mail", scopes: ["mail:read"], run: () => "mail" }),
  tool({ name: "news", scopes: ["news"], run: () => "news" }),
  tool({
    name: "pick",
    async run(_, { ask }) {
      const schema = z.object({ fruit: z.string() });
      return JSON.stringify(await ask({ message: "Which?", schema }));
    },
  }),
  tool({ name: "long", task: "required", run: () => "done" }),
];
const resources = [
  resource({ uri: "note://open", name: "open", read: () => "open" }),
  resource({
    uri: "note://mail",
    name: "mail",
    scopes: ["mail:read"],
    read: () => "mail",
  }),
];
const prompts = [
  prompt({
    name: "mail",
    scopes: ["mail:read"],
    args: z.object({ topic: z.string() }),
    complete: { topic: () => ["a"] },
    get: () => "mail",
  }),
];

const capabilities = {
  elicitation: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};
const CHATGPT = { "user-agent": "openai-mcp/1.0.0 (ChatGPT)" };

function start(
  { environment, ...options }: OAuthServerOptions = {},
): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    resources,
    prompts,
    scopes: { news: { description: "Read the news", stepUp: true } },
    ...options,
    environment: { AUTH_ANONYMOUS: "true", ...environment },
  });
}

async function signIn(server: OAuthServer, scope?: string): Promise<HeadersOf> {
  const client = await Client.register(server);
  const { access_token } = await client.connect(scope ? { scope } : {});
  return { authorization: `Bearer ${access_token}` };
}

/** Opens a caller of each generation; the 2025 one opens a session first. */
async function callersOf(server: OAuthServer, headers: HeadersOf = {}) {
  const opened = await server.post(initialize("2025-11-25"), headers);
  assert.equal(opened.status, 200);
  await opened.body?.cancel();
  const session = {
    ...headers,
    "mcp-session-id": opened.headers.get("mcp-session-id")!,
  };
  return {
    "2025": (method: string, params: Json = {}, more: HeadersOf = {}) =>
      server.post(rpc(method, params), { ...session, ...more }),
    "2026": (method: string, params: Json = {}, more: HeadersOf = {}) =>
      server.call(method, params, {
        headers: { ...headers, ...more },
        capabilities,
      }),
  };
}

const call = (name: string) => ({ name, arguments: {} });

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`a ${generation} stranger sees the lists and uses what needs no scope`, async () => {
    await using server = await start();
    const ask = (await callersOf(server))[generation];
    const listed = await resultOf(ask("tools/list"));
    const names = listed.tools.map(({ name }: Json) => name);
    assert.deepEqual(names.slice(0, 3), ["whoami", "mail", "news"]);
    const { resources } = await resultOf(ask("resources/list"));
    assert.equal(resources.length, 2);
    const { content } = await resultOf(ask("tools/call", call("whoami")));
    assert.deepEqual(JSON.parse(content[0].text), {
      subject: "anonymous",
      scopes: [],
      binding: "stranger",
    });
    const { contents } = await resultOf(
      ask("resources/read", { uri: "note://open" }),
    );
    assert.equal(contents[0].text, "open");
  });

  const ways: [string, Json][] = [
    ["tools/call", call("mail")],
    ["resources/read", { uri: "note://mail" }],
    ["prompts/get", { name: "mail", arguments: { topic: "x" } }],
    ["completion/complete", {
      ref: { type: "ref/prompt", name: "mail" },
      argument: { name: "topic", value: "" },
    }],
    generation === "2025"
      ? ["resources/subscribe", { uri: "note://mail" }]
      : ["subscriptions/listen", {
        notifications: { resourceSubscriptions: ["note://mail"] },
      }],
  ];
  for (const [method, params] of ways) {
    Deno.test(`a ${generation} stranger is asked to sign in by ${method} with a scope`, async () => {
      await using server = await start();
      const ask = (await callersOf(server))[generation];
      const refused = await ask(method, params);
      assert.equal(refused.status, 401);
      const challenge = refused.headers.get("www-authenticate")!;
      assert.doesNotMatch(challenge, /error=/);
      assert.match(challenge, / scope="mail:read"$/);
      assert.match(
        challenge,
        /resource_metadata="[^"]*\/oauth-protected-resource\/mcp"/,
      );
      await refused.body?.cancel();
    });
  }

  Deno.test(`a ${generation} stranger is asked for a waiting scope with those of every sign-in`, async () => {
    await using server = await start();
    const ask = (await callersOf(server))[generation];
    const refused = await ask("tools/call", call("news"));
    await refused.body?.cancel();
    assert.match(
      refused.headers.get("www-authenticate")!,
      / scope="news mail:read"$/,
    );
  });

  Deno.test(`ChatGPT finds the challenge of a ${generation} tool in its result`, async () => {
    await using server = await start();
    const stranger = (await callersOf(server))[generation];
    const headers = await signIn(server, "mail:read");
    const narrow = (await callersOf(server, headers))[generation];
    for (
      const [ask, name, scope] of [
        [stranger, "mail", "mail:read"],
        [narrow, "news", "news"],
      ] as const
    ) {
      const response = await ask("tools/call", call(name), CHATGPT);
      assert.equal(response.status, 200);
      const { result } = await response.json();
      assert.equal(result.isError, true);
      assert.equal(typeof result.content[0].text, "string");
      const [challenge] = result._meta["mcp/www_authenticate"];
      assert.match(challenge, /^Bearer error="insufficient_scope", /);
      assert.match(challenge, /error_description="[^"]+"/);
      assert.match(challenge, /resource_metadata="[^"]+"/);
      assert.match(challenge, new RegExp(` scope="${scope}"$`));
    }
    assert.equal(
      await statusOf(stranger("resources/read", {
        uri: "note://mail",
      }, CHATGPT)),
      401,
    );
    assert.equal(
      await textOf(narrow("tools/call", call("mail"), CHATGPT)),
      "mail",
    );
  });
}

for (
  const [what, headers] of [
    ["a dead token", { authorization: "Bearer tsa_dead" }],
    ["another scheme", { authorization: "Basic eDp5" }],
    ["an empty header", { authorization: "" }],
    ["a dead token of ChatGPT's", {
      ...CHATGPT,
      authorization: "Bearer tsa_dead",
    }],
  ] as const
) {
  Deno.test(`${what} is 401 and never a stranger`, async () => {
    await using server = await start();
    for (
      const response of [
        await server.post(initialize("2025-11-25"), headers),
        await server.call("tools/call", call("whoami"), { headers }),
      ]
    ) {
      assert.equal(response.status, 401);
      assert(response.headers.has("www-authenticate"));
      await response.body?.cancel();
    }
  });
}

Deno.test("a wrong key in its own header is 401 and never a stranger, a right one the operator", async () => {
  const API_KEY = "the-only-secret-key";
  const env: Environment = {
    AUTH_STRATEGY: "api_key",
    API_KEY,
    AUTH_ANONYMOUS: "true",
  };
  await using server = await startServer({ tools, env });
  const statusFor = (name: string, headers: HeadersOf) =>
    statusOf(server.call("tools/call", call(name), { headers }));
  assert.equal(await statusFor("whoami", {}), 200);
  assert.equal(await statusFor("mail", {}), 401);
  assert.equal(await statusFor("whoami", { "x-api-key": "wrong" }), 401);
  assert.equal(await statusFor("mail", { "x-api-key": API_KEY }), 200);
  // No one can sign in here, so ChatGPT gets no security schemes.
  const { tools: [listed] } = await resultOf(server.call("tools/list"));
  assert(!("securitySchemes" in listed));
});

/** Opens a session, and gives the status of a request of each caller in it. */
async function openSession(server: OAuthServer, opener: HeadersOf) {
  const { id: sessionId } = await server.openSession({ headers: opener });
  return async (who: HeadersOf, method: "POST" | "DELETE") => {
    const body = JSON.stringify(rpc("tools/call", call("whoami")));
    return await statusOf(server.fetch("/mcp", {
      method,
      ...method === "POST" && { body },
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": sessionId,
        ...who,
      },
    }));
  };
}

Deno.test("a person's session is closed to strangers", async () => {
  await using server = await start();
  const person = await signIn(server);
  const as = await openSession(server, person);
  assert.equal(await as({}, "POST"), 404);
  assert.equal(await as({}, "DELETE"), 404);
  assert.equal(await as(person, "POST"), 200);
});

Deno.test("a stranger's session is theirs who sign in, and no stranger's from then on", async () => {
  await using server = await start();
  const as = await openSession(server, {});
  assert.equal(await as({}, "POST"), 200);
  const person = await signIn(server);
  assert.equal(await as(person, "DELETE"), 404);
  assert.equal(await as(person, "POST"), 200);
  assert.equal(await as({}, "POST"), 404);
  assert.equal(await as({}, "DELETE"), 404);
  assert.equal(await as(person, "POST"), 200);
  assert.equal(await as(person, "DELETE"), 202);
});

Deno.test("what a stranger began is not a person's after a sign-in, nor the other way round", async () => {
  await using server = await start();
  const person = await signIn(server);
  for (const [first, second] of [[{}, person], [person, {}]]) {
    const ask = (headers: HeadersOf, method: string, params: Json) =>
      resultOf(server.call(method, params, { headers, capabilities }));
    const refusal = async (...request: Parameters<typeof ask>) => {
      const [headers, method, params] = request;
      const response = await server.call(method, params, {
        headers,
        capabilities,
      });
      return (await response.json()).error.message;
    };
    const { taskId } = await ask(first, "tools/call", call("long"));
    assert.equal(
      await refusal(second, "tasks/get", { taskId }),
      `Unknown task: "${taskId}"`,
    );
    assert.equal((await ask(first, "tasks/get", { taskId })).taskId, taskId);

    const { inputRequests, requestState } = await ask(
      first,
      "tools/call",
      call("pick"),
    );
    const [key] = Object.keys(inputRequests);
    const answered = {
      ...call("pick"),
      requestState,
      inputResponses: {
        [key]: { action: "accept", content: { fruit: "fig" } },
      },
    };
    assert.match(await refusal(second, "tools/call", answered), /requestState/);
    const { content } = await ask(first, "tools/call", answered);
    assert.match(content[0].text, /fig/);
  }
});

Deno.test("a stranger is told of what the rules give everyone, and of nothing else", async () => {
  await using server = await start({
    environment: { OAUTH_PERMISSIONS: "*=news; group:staff=mail:read" },
  });
  const { tools: listed, cacheScope } = await resultOf(
    server.call("tools/list"),
  );
  assert.deepEqual(listed.map(({ name }: Json) => name), [
    "whoami",
    "news",
    "pick",
    "long",
    "task_status",
    "task_cancel",
  ]);
  assert.equal(cacheScope, "private");
  const [hidden, unknown, open] = await Promise.all(
    ["mail", "none", "news"].map((name) =>
      server.call("tools/call", call(name))
    ),
  );
  assert.equal(hidden.status, unknown.status);
  assert.equal(
    (await hidden.text()).replaceAll("mail", "none"),
    await unknown.text(),
  );
  assert.equal(open.status, 401);
  await open.body?.cancel();
});

Deno.test("tools tell ChatGPT whether they need a sign-in, in their author's words first", async () => {
  const own = { securitySchemes: [{ type: "noauth" }] };
  await using server = await start({
    tools: [...tools, tool({ name: "own", _meta: own, run: () => "" })],
  });
  for (const ask of Object.values(await callersOf(server))) {
    const { tools: listed } = await resultOf(ask("tools/list"));
    const schemesOf = (name: string) => {
      const found = listed.find((one: Json) => one.name === name);
      return [found.securitySchemes, found._meta.securitySchemes];
    };
    const anyone = [{ type: "noauth" }, { type: "oauth2" }];
    assert.deepEqual(schemesOf("whoami"), [anyone, anyone]);
    const known = [{ type: "oauth2", scopes: ["mail:read"] }];
    assert.deepEqual(schemesOf("mail"), [known, known]);
    assert.deepEqual(schemesOf("own")[1], own.securitySchemes);
  }
});

Deno.test("without AUTH_ANONYMOUS a stranger is asked to sign in by everything", async () => {
  await using server = await start({
    environment: { AUTH_ANONYMOUS: "false" },
  });
  const person = await signIn(server);
  const { tools: [listed] } = await resultOf(
    server.call("tools/list", {}, { headers: person }),
  );
  assert(!("securitySchemes" in listed));
  for (
    const response of [
      await server.post(initialize("2025-11-25")),
      await server.call("tools/list"),
      await server.call("tools/call", call("whoami"), { headers: CHATGPT }),
    ]
  ) {
    assert.equal(response.status, 401);
    await response.body?.cancel();
  }
});

Deno.test("the first request of a process may be a stranger's who has to sign in", async () => {
  await using server = await start();
  const refused = await server.call("tools/call", call("mail"));
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get("www-authenticate")!, /^Bearer resource/);
  await refused.body?.cancel();
});

Deno.test("a route of the author's that asks who it is lets no stranger in", async () => {
  await using server = await startServer({
    tools,
    env: {
      BASE_URL,
      AUTH_STRATEGY: "bearer",
      BEARER_TOKEN: "the-only-secret-token",
      AUTH_ANONYMOUS: "true",
    },
    routes(app, { authenticate }) {
      app.get(
        "/me",
        async (c) => c.text((await authenticate(c.req.raw)).caller.subject),
      );
    },
  });
  const refused = await server.fetch("/me");
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get("www-authenticate"), "Bearer");
  await refused.body?.cancel();
  const headers = { authorization: "Bearer the-only-secret-token" };
  assert.equal(
    await (await server.fetch("/me", { headers })).text(),
    "operator",
  );
});

/** Posts `initialize` behind 3 MiB of spaces, and ends when it is told to. */
function postSlowly(server: OAuthServer, headers: HeadersOf = {}) {
  const taken = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const encoder = new TextEncoder();
  let pulls = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (++pulls === 1) {
        return controller.enqueue(encoder.encode(" ".repeat(3 * 2 ** 20)));
      }
      taken.resolve();
      await finish.promise;
      const message = JSON.stringify(initialize("2025-11-25"));
      controller.enqueue(encoder.encode(message));
      controller.close();
    },
  }, { highWaterMark: 0 });
  const answer = statusOf(server.post(body, headers));
  return { answer, taken: taken.promise, finish: finish.resolve };
}

Deno.test("bodies that strangers hold open make the server give up their own, and none of a person", async () => {
  await using server = await start();
  const upload = postSlowly(server, await signIn(server));
  await upload.taken;
  const others = Array.from({ length: 12 }, () => postSlowly(server));
  assert.equal(await Promise.race(others.map(({ answer }) => answer)), 503);
  upload.finish();
  assert.equal(await upload.answer, 200);
  for (const { finish } of others) finish();
  const answers = await Promise.all(others.map(({ answer }) => answer));
  assert(answers.includes(200), "the server gave up all of them");
});
