/**
 * Secret settings of the server: nothing that an author's code gives, throws or
 * logs has one, as it has no key of a person's.
 *
 * @module
 */
import assert from "node:assert/strict";
import { prompt } from "../../src/authoring/prompt.ts";
import { ResultWith } from "../../src/authoring/result.ts";
import { resource } from "../../src/authoring/resource.ts";
import { service } from "../../src/authoring/service.ts";
import { secret } from "../../src/authoring/setting.ts";
import { tool, ToolError } from "../../src/authoring/tool.ts";
import { type Api, httpApi } from "../../src/api.ts";
import * as z from "zod";
import { messagesOf } from "../kit/answer.ts";
import { recordLog } from "../kit/log.ts";
import { startServer } from "../kit/server.ts";
import { beginTask, reached } from "../kit/task.ts";

const KEY = "k3y of-the/operator";
const SHORT = "dev-1";

const settings = {
  PARCELS_KEY: secret(z.string()),
  TRIAL_KEY: secret(z.string()),
  PLACE: z.string(),
};
const env = { PARCELS_KEY: KEY, TRIAL_KEY: SHORT, PLACE: "a place in Delft" };

/** A service that needs another, which alone has the settings. */
const inner = service({ name: "inner", settings, start: (it) => it.settings });
const outer = service({
  name: "outer",
  services: { inner },
  start: ({ services }) => services.inner,
});

const tools = [
  tool({
    name: "give",
    settings,
    run: (_input, { settings: { PARCELS_KEY, PLACE, TRIAL_KEY } }) =>
      `${encodeURIComponent(PARCELS_KEY)} ${
        btoa(PARCELS_KEY)
      } ${PLACE} ${TRIAL_KEY}`,
  }),
  tool({
    name: "structured",
    services: { outer },
    output: z.object({ key: z.string() }),
    run: (_input, { services }) =>
      new ResultWith({ key: services.outer.PARCELS_KEY }, { meta: { KEY } }),
  }),
  tool({
    name: "fail",
    services: { outer },
    async run(_input, { services, progress, log }) {
      await progress(1, 2, services.outer.PARCELS_KEY);
      await log("error", services.outer.PARCELS_KEY);
      throw new Error(`No ${services.outer.PARCELS_KEY}`);
    },
  }),
];
const resources = [
  resource({
    name: "page",
    uri: "test://page",
    settings,
    read: (_variables, { settings }) => `the ${settings.PARCELS_KEY}`,
  }),
];
const prompts = [
  prompt({
    name: "words",
    settings,
    get: (_args, { settings }) => `the ${settings.PARCELS_KEY}`,
  }),
];

/** Every usual form of the key, as far as a text of JSON can have it. */
function hasKey(text: string): boolean {
  return [KEY, encodeURIComponent(KEY), btoa(KEY)]
    .some((form) => text.includes(form));
}

Deno.test("a secret setting is in no result of a tool, a resource or a prompt", async () => {
  await using server = await startServer({ tools, resources, prompts, env });
  for (
    const [method, params, shown] of [
      [
        "tools/call",
        { name: "give" },
        "(hidden) (hidden) a place in Delft dev-1",
      ],
      ["tools/call", { name: "structured" }, '"key":"(hidden)"'],
      ["resources/read", { uri: "test://page" }, "the (hidden)"],
      ["prompts/get", { name: "words" }, "the (hidden)"],
    ] as const
  ) {
    const text = await (await server.call(method, params)).text();
    assert(text.includes(shown), text);
    assert(!hasKey(text), text);
  }
});

Deno.test("a secret setting is in no progress, error or line of the log", async () => {
  const { log, events } = recordLog("debug");
  await using server = await startServer({ tools, env, log });
  const params = { name: "fail" };
  const meta = { progressToken: 1, "io.modelcontextprotocol/logLevel": "info" };
  const answer = await server.call("tools/call", params, { meta });
  const messages = JSON.stringify(await messagesOf(answer));
  assert.match(messages, /"message":"\(hidden\)"/);
  assert(!hasKey(messages), messages);
  const logged = events.map((it) => Deno.inspect(it)).join("\n");
  assert.match(logged, /No \(hidden\)/);
  assert(!hasKey(logged), logged);
});

Deno.test("a service that does not start tells none of its secret settings", async () => {
  const broken = service({
    name: "broken",
    settings,
    start({ settings }) {
      throw new Error(
        `No way to https://api.example.com?key=${settings.PARCELS_KEY}`,
      );
    },
  });
  const asking = tool({ name: "a", services: { broken }, run: () => "a" });
  await using server = await startServer({ tools: [asking], env });
  await assert.rejects(server.app.start(), (error: Error) => {
    assert.match(error.message, /api\.example\.com\?key=\(hidden\)/);
    assert(!hasKey(Deno.inspect(error)), Deno.inspect(error));
    return true;
  });
});

Deno.test("what an API says of the server's own key or token is in nothing that a tool or a resource gives, throws or keeps", async () => {
  const tokens: string[] = [];
  await using api = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ url, headers }) => {
      if (!url.endsWith("/token")) {
        return Response.json({ sent: headers.get("authorization") });
      }
      tokens.push(`own-access-${crypto.randomUUID()}`);
      const answer = { access_token: tokens.at(-1), expires_in: 3600 };
      return Response.json(answer);
    },
  );
  const there = `http://127.0.0.1:${api.addr.port}`;
  const client = { token: `${there}/token`, id: "shop", secret: "s3cret-shop" };
  const key = "crm-key-123456";
  // Neither is a secret setting, which would be hidden in any case.
  const shop = service({
    name: "shop",
    start: () => httpApi({ name: "shop", api: there, client }),
  });
  const crm = service({
    name: "crm",
    start: () => httpApi({ name: "crm", api: there, key }),
  });
  const services = { shop, crm };
  const ask = async ({ shop, crm }: Record<"shop" | "crm", Api>) =>
    `${await (await shop.fetch("/a")).text()} ${await (await crm.fetch("/a"))
      .text()}`;
  const asking = [
    tool({ name: "run", services, run: (_, { services }) => ask(services) }),
    tool({
      name: "throw",
      services,
      async run(_, { services }) {
        throw new ToolError(await ask(services));
      },
    }),
    tool({
      name: "prepare",
      services,
      async prepare(_, { services }) {
        throw new ToolError(await ask(services));
      },
      run: () => "",
    }),
    tool({
      name: "fail",
      services,
      async run(_, { services }) {
        throw new Error(await ask(services));
      },
    }),
    tool({
      name: "keep",
      services,
      task: { durable: true },
      run: (_, { services, step }) => step("ask", () => ask(services)),
    }),
  ];
  const page = resource({
    name: "page",
    uri: "test://page",
    services,
    read: (_, { services }) => ask(services),
  });
  const { log, events } = recordLog("debug");
  await using kv = await Deno.openKv(":memory:");
  await using server = await startServer({
    tools: asking,
    resources: [page],
    kv,
    log,
  });
  const seen: unknown[] = [events];
  for (const name of ["run", "throw", "prepare", "fail"]) {
    seen.push(await (await server.call("tools/call", { name })).text());
  }
  const read = await server.call("resources/read", { uri: "test://page" });
  seen.push(await read.text());
  const id = await beginTask(server, "keep");
  seen.push(await reached(server, id, "completed"));
  for await (const { value } of kv.list({ prefix: [] })) seen.push(value);
  const text = seen.map((it) => Deno.inspect(it, { depth: 20 })).join("\n");
  assert.equal(tokens.length, 1);
  for (const it of [...tokens, key]) assert(!text.includes(it), text);
  assert(text.match(/\(hidden\)/g)!.length > 10, text);
});
