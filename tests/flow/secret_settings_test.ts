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
import { tool } from "../../src/authoring/tool.ts";
import * as z from "zod";
import { messagesOf } from "../kit/answer.ts";
import { recordLog } from "../kit/log.ts";
import { startServer } from "../kit/server.ts";

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
