/**
 * Resources, prompts and proposals that are made with their caller's own account
 * at another service: how each kind of client is told that one is missing.
 */
import assert from "node:assert/strict";
import { prompt, resource, z } from "../../src/mod.ts";
import type { PersonalKey } from "../../src/mod.ts";
import { Events, outcome, resultOf } from "../kit/answer.ts";
import {
  connect,
  FORMS,
  openConnect,
  OPENS,
  startConnected,
} from "../kit/connected.ts";
import { keyOf, KeyService } from "../kit/key_service.ts";
import { type Json, rpc } from "../kit/message.ts";
import type { OAuthServer } from "../kit/sign_in.ts";
import { until } from "../kit/wait.ts";

/** A resource and a prompt that say who the service takes their caller for. */
function start(linear: PersonalKey): Promise<OAuthServer> {
  const needs = { linear };
  const uri = linear.several ? "notes://{account}/{id}" : "notes://{id}";
  const note = resource({
    uri: uri as "notes://{id}",
    name: "note",
    title: "A note",
    needs,
    complete: {
      id: async (value, _known, { needs }) => [
        value + await (await needs.linear.fetch("/me")).text(),
      ],
    },
    read: async ({ id }, { needs }) =>
      `${id} of ${await (await needs.linear.fetch("/me")).text()}`,
  });
  const greeting = prompt({
    name: "greeting",
    args: { word: z.string() },
    needs,
    get: async (args, { needs }) =>
      JSON.stringify([args, await (await needs.linear.fetch("/me")).text()]),
  });
  return startConnected(linear, {
    tools: [],
    resources: [note],
    prompts: [greeting],
  });
}

type Ask = (method: string, params: Json) => Promise<Response>;

/** Makes a client of a person in one generation. */
async function clientOf(
  server: OAuthServer,
  generation: "2025" | "2026",
  { as = "42", capabilities = FORMS }: { as?: string; capabilities?: Json } =
    {},
): Promise<Ask> {
  server.provider.subject = as;
  const { headers } = await server.person();
  if (generation === "2026") {
    return (method, params) =>
      server.call(method, params, { headers, capabilities });
  }
  const session = await server.openSession({ headers, capabilities });
  return (method, params) => session.post(rpc(method, params));
}

const READS: [method: string, params: Json, text: (result: Json) => string][] =
  [
    [
      "resources/read",
      { uri: "notes://7" },
      ({ contents }) => contents[0].text,
    ],
    [
      "prompts/get",
      { name: "greeting", arguments: { word: "tea" } },
      ({ messages }) => messages[0].content.text,
    ],
  ];

const ID = {
  ref: { type: "ref/resource", uri: "notes://{id}" },
  argument: { name: "id", value: "a" },
};

for (const generation of ["2025", "2026"] as const) {
  for (const [method, params, text] of READS) {
    Deno.test(`${generation}: ${method} of a client that opens no pages is answered with the link, and then acts with the account`, async () => {
      await using service = new KeyService("ada@acme");
      await using server = await start(service.key());
      const ask = await clientOf(server, generation);
      const { error } = await outcome(ask(method, params));
      assert.match(error.message, /^Open this first, then try again:/);
      const [link] = /^http\S+\?w=\S+$/m.exec(error.message)!;
      const page = await openConnect(server, { link });
      assert.match(page.words, /“ ?App ?” .* for (notes:\/\/7|greeting)/);
      await connect(page, keyOf("ada@acme"));
      assert.match(text(await resultOf(ask(method, params))), /ada@acme/);
    });
  }

  Deno.test(`${generation}: nothing is proposed without the account, and no one is asked`, async () => {
    await using service = new KeyService("ada@acme");
    await using server = await start(service.key());
    const ask = await clientOf(server, generation);
    const propose = async () =>
      (await resultOf(ask("completion/complete", ID))).completion.values;
    assert.deepEqual(await propose(), []);
    await connect(await openConnect(server), keyOf("ada@acme"));
    await until(async () => (await propose()).length > 0);
    assert.deepEqual(await propose(), ["aada@acme"]);
  });

  Deno.test(`${generation}: one of several accounts is named by an argument, or by the address`, async () => {
    await using service = new KeyService("ada@work", "ada@home");
    await using server = await start(service.key("linear", { several: true }));
    for (const name of ["ada@work", "ada@home"]) {
      await connect(await openConnect(server), keyOf(name));
    }
    const ask = await clientOf(server, generation);
    const greet = (given: Json) =>
      outcome(ask("prompts/get", {
        name: "greeting",
        arguments: { word: "tea", ...given },
      }));
    const { error } = await greet({});
    assert.match(error.message, /accounts at Linear: ada@home, ada@work/);
    const { result } = await greet({ account: "ada@home" });
    const text = JSON.stringify([{ word: "tea" }, "ada@home"]);
    assert.equal(result.messages[0].content.text, text);
    const uri = `notes://${encodeURIComponent("ada@work")}/7`;
    const { contents } = await resultOf(ask("resources/read", { uri }));
    assert.equal(contents[0].text, "7 of ada@work");
    const ref = { type: "ref/resource", uri: "notes://{account}/{id}" };
    const context = { arguments: { account: "ada@home" } };
    const { completion } = await resultOf(
      ask("completion/complete", { ...ID, ref, context }),
    );
    assert.deepEqual(completion.values, ["aada@home"]);
    const { prompts } = await resultOf(ask("prompts/list", {}));
    const names = prompts[0].arguments.map(({ name }: Json) => name);
    assert.deepEqual(names, ["word", "account"]);
    assert.deepEqual(prompts[0]._meta["tool-server/services"], ["linear"]);
  });
}

for (const [method, params, text] of READS) {
  Deno.test(`2026: ${method} of a client that opens pages goes on once its person has connected`, async () => {
    await using service = new KeyService("ada@acme");
    await using server = await start(service.key());
    const ask = await clientOf(server, "2026", { capabilities: OPENS });
    const first = await resultOf(ask(method, params));
    const { url } = first.inputRequests["connect-linear"].params;
    const held = ask(method, {
      ...params,
      requestState: first.requestState,
      inputResponses: { "connect-linear": { action: "accept" } },
    });
    await until(() => server.app.running > 0);
    await connect(await openConnect(server, { link: url }), keyOf("ada@acme"));
    assert.match(text(await resultOf(held)), /ada@acme/);
  });

  Deno.test(`2025: ${method} asks a client that opens pages on its stream`, async () => {
    await using service = new KeyService("ada@acme");
    await using server = await start(service.key());
    server.provider.subject = "42";
    const { headers } = await server.person();
    const session = await server.openSession({ headers, capabilities: OPENS });
    const events = new Events(await session.request(method, params));
    const { id, params: { url } } = await events.read();
    await session.post({ jsonrpc: "2.0", id, result: { action: "accept" } });
    await connect(await openConnect(server, { link: url }), keyOf("ada@acme"));
    await events.read();
    assert.match(text((await events.read()).result), /ada@acme/);
  });
}
