/**
 * Tools that act with their caller's own account at another service: how each
 * kind of client is told that one is missing, the page on which it is
 * connected, and what the tool can do with it.
 */
import assert from "node:assert/strict";
import { jsonLine } from "../../../src/core/log/log_line.ts";
import { tool, ToolError, z } from "../../../src/mod.ts";
import { Events, resultOf, textOf } from "../../kit/answer.ts";
import {
  clientOf,
  connect,
  linkOf,
  openConnect,
  OPENS,
  startConnected,
} from "../../kit/connected.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService, spelled } from "../../kit/key_service.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";

/** The answer of a tool with the same key at two services. */
const BOTH = spelled("lin_adaacme lin_adaacme");

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`${generation}: a client that opens no pages is told the link, and the next call acts with the account`, async () => {
    await using service = new KeyService("ada@acme");
    await using server = await startConnected(service.key());
    const call = await clientOf(server, generation);
    const first = await resultOf(call("who"));
    const link = linkOf(first);
    assert.match(
      link,
      /^http:\/\/127\.0\.0\.1:3000\/connect\/linear\?w=[\w-]{43}$/,
    );
    assert.match(
      first.content[0].text,
      /Connect your account at Linear\nhttp.*call who again/s,
    );
    // All calls of a client wait for it together.
    assert.equal(linkOf(await resultOf(call("fetch", { path: "/me" }))), link);
    const visitor = await openConnect(server, { link });
    assert.match(visitor.words, /Who asks “ ?App ?” .* for who/);
    await visitor.press("/connect/linear", {
      answer: "connect",
      key: keyOf("ada@acme"),
    });
    assert.match(
      visitor.words,
      /The key works\. Linear says that it is the key of ada@acme/,
    );
    assert.doesNotMatch(visitor.page.text, /lin_adaacme/);
    assert.match(linkOf(await resultOf(call("who"))), /w=/);
    await visitor.press("/connect/linear", { answer: "connect" });
    assert.match(visitor.words, /Connected as ada@acme/);
    assert.equal(await textOf(call("who")), "200 ada@acme");
    assert.deepEqual(service.seen.at(-1), ["/api/me", "Bearer lin_adaacme"]);
  });

  Deno.test(`${generation}: everything that is missing is asked in one trip`, async () => {
    await using service = new KeyService("ada@acme");
    const github = service.key("github", { title: "GitHub" });
    await using server = await startConnected(service.key(), { github });
    const call = await clientOf(server, generation);
    const result = await resultOf(call("both"));
    const links = [linkOf(result), linkOf(result, 1)].sort().reverse();
    assert.match(links.join(), /connect\/linear\?w=.*connect\/github\?w=/);
    for (const link of links) {
      await connect(await openConnect(server, { link }), keyOf("ada@acme"));
    }
    assert.equal(await textOf(call("both")), BOTH);
  });

  Deno.test(`${generation}: "Not now" reaches the model in words`, async () => {
    await using service = new KeyService("ada@acme");
    await using server = await startConnected(service.key());
    const call = await clientOf(server, generation);
    const visitor = await openConnect(server, {
      link: linkOf(await resultOf(call("who"))),
    });
    await visitor.press("/connect/linear", { answer: "not-now" });
    assert.match(await textOf(call("who")), /person has not connected Linear/);
    // Asked again, they are asked again.
    linkOf(await resultOf(call("who")));
  });
}

Deno.test("2026: a client that opens pages is held while its person connects, and the call goes on by itself", async () => {
  await using service = new KeyService("ada@acme");
  await using server = await startConnected(service.key());
  const call = await clientOf(server, "2026", { capabilities: OPENS });
  const first = await resultOf(call("who"));
  const { mode, url } = first.inputRequests["connect-linear"].params;
  assert.equal(mode, "url");
  const held = call("who", {}, {
    requestState: first.requestState,
    inputResponses: { "connect-linear": { action: "accept" } },
  });
  await until(() => server.app.running > 0);
  await connect(await openConnect(server, { link: url }), keyOf("ada@acme"));
  assert.equal(await textOf(held), "200 ada@acme");
});

Deno.test("2025: a client that opens pages is asked on its stream, and told when it is complete", async () => {
  await using service = new KeyService("ada@acme");
  await using server = await startConnected(service.key());
  server.provider.subject = "42";
  const { headers } = await server.person();
  const session = await server.openSession({ headers, capabilities: OPENS });
  const response = await session.request("tools/call", { name: "who" });
  const events = new Events(response);
  const { id, method, params } = await events.read();
  assert.equal(method, "elicitation/create");
  assert.equal(params.mode, "url");
  await session.post({ jsonrpc: "2.0", id, result: { action: "accept" } });
  await connect(
    await openConnect(server, { link: params.url }),
    keyOf("ada@acme"),
  );
  const complete = await events.read();
  assert.equal(complete.method, "notifications/elicitation/complete");
  assert.equal(complete.params.elicitationId, params.elicitationId);
  const { result } = await events.read();
  assert.equal(result.content[0].text, "200 ada@acme");
});

for (const isOpen of [true, false]) {
  Deno.test(`2025: a client whose person ${isOpen ? "leaves the page open" : "does not answer its question"} is given the link before it gives the request up`, async () => {
    using time = new FakeTime();
    await using service = new KeyService("ada@acme");
    await using server = await startConnected(service.key());
    server.provider.subject = "42";
    const { headers } = await server.person();
    const session = await server.openSession({ headers, capabilities: OPENS });
    const events = new Events(
      await session.request("tools/call", { name: "who" }),
    );
    const { id, params } = await events.read();
    if (isOpen) {
      await session.post({ jsonrpc: "2.0", id, result: { action: "accept" } });
    }
    time.tick(44);
    let event: Json | undefined;
    const read = events.read().then((it) => event = it);
    await until(() => {
      time.tick(0.1);
      return event !== undefined;
    });
    await read;
    if (!isOpen) {
      assert.equal(event!.method, "notifications/cancelled");
      assert.equal(event!.params.requestId, id);
      event = await events.read();
    }
    assert.equal(linkOf(event!.result), params.url);
  });
}

Deno.test("a call that only takes keys makes no signal: making one takes longer than the rest", async () => {
  await using service = new KeyService("ada@acme");
  const github = service.key("github", { title: "GitHub" });
  await using server = await startConnected(service.key(), { github });
  const call = await clientOf(server, "2026");
  for (const name of ["linear", "github"]) {
    const link = `${BASE_URL}/connect/${name}`;
    await connect(await openConnect(server, { link }), keyOf("ada@acme"));
  }
  const { AbortController } = globalThis;
  let made = 0;
  globalThis.AbortController = class extends AbortController {
    constructor() {
      super();
      made++;
    }
  };
  try {
    assert.equal(await textOf(call("both")), BOTH);
    made = 0;
    assert.equal(await textOf(call("both")), BOTH);
    assert.equal(made, 0);
  } finally {
    globalThis.AbortController = AbortController;
  }
});

Deno.test("what a client declines is not asked on, and nothing runs", async () => {
  await using service = new KeyService("ada@acme");
  await using server = await startConnected(service.key());
  const call = await clientOf(server, "2026", { capabilities: OPENS });
  const { requestState } = await resultOf(call("who"));
  const declined = call("who", {}, {
    requestState,
    inputResponses: { "connect-linear": { action: "decline" } },
  });
  assert.match(await textOf(declined), /has not connected Linear/);
});

Deno.test("a service that is down, slow or strange gives the model words", async () => {
  const service = new KeyService("ada@acme");
  await using server = await startConnected(service.key());
  const call = await clientOf(server, "2026");
  await connect(await openConnect(server), keyOf("ada@acme"));
  service.answer = () => new Response("<html>", { status: 429 });
  assert.equal(await textOf(call("fetch", { path: "/me" })), "429");
  await service[Symbol.asyncDispose]();
  assert.match(
    await textOf(call("fetch", { path: "/me" })),
    /Linear did not answer: try again later/,
  );
});

Deno.test("a person with two accounts of one service is asked which, and told as whom", async () => {
  await using service = new KeyService("ada@work", "ada@home", "ada@club");
  const linear = service.key("linear", { several: true });
  const me = tool({
    name: "me",
    needs: { linear },
    output: z.object({ name: z.string() }),
    run: async (_input, { needs }) => ({
      name: await (await needs.linear.fetch("/me")).text(),
    }),
  });
  await using server = await startConnected(linear, { tools: [me] });
  for (const generation of ["2025", "2026"] as const) {
    const call = await clientOf(server, generation, { as: generation });
    const options = { as: generation };
    for (const name of ["ada@work", "ada@home"]) {
      await connect(await openConnect(server, options), keyOf(name));
      if (name !== "ada@work") continue;
      // With one, no one has to say which.
      const { structuredContent, content } = await resultOf(call("me"));
      assert.deepEqual(structuredContent, { name });
      assert.equal(content.length, 1);
    }
    // A process may know the accounts of a second ago.
    await until(async () => (await resultOf(call("me"))).isError === true);
    const asked = await resultOf(call("me"));
    assert.match(
      asked.content[0].text,
      /these accounts at Linear: ada@home, ada@work\. Name one of them in the argument "account", .* connect another: http\S+\/connect\/linear$/,
    );
    for (const account of ["ada@work", "ada@home"]) {
      const { structuredContent, content, _meta } = await resultOf(
        call("me", { account }),
      );
      assert.deepEqual(structuredContent, { name: account });
      assert.match(content[1].text, new RegExp(`with the account ${account}`));
      assert.equal(_meta["tool-server/account"], account);
    }
    assert.match(await textOf(call("me", { account: "bob" })), /ada@home/);
  }
  const { headers } = await server.person();
  const listed = await resultOf(server.call("tools/list", {}, { headers }));
  const { inputSchema, _meta } = listed.tools[0];
  assert.equal(inputSchema.properties.account.type, "string");
  assert.equal(inputSchema.required, undefined);
  assert.deepEqual(_meta["tool-server/services"], ["linear"]);
});

test.inMemory("each service gets its own key, also where one commit has moved both", async ({ kv }) => {
  await using service = new KeyService("ada@acme", "ada@hub");
  const github = service.key("github");
  const linear = service.key();
  await using server = await startConnected(linear, { kv, github });
  const link = `${BASE_URL}/connect/github`;
  await connect(await openConnect(server), keyOf("ada@acme"));
  await connect(await openConnect(server, { link }), keyOf("ada@hub"));
  const moving = kv.atomic();
  for await (const { key, value } of kv.list({ prefix: ["account"] })) {
    moving.set(key, value);
  }
  await moving.commit();
  const call = await clientOf(server, "2026");
  assert.equal(await textOf(call("both")), spelled("lin_adaacme lin_adahub"));
});

Deno.test("a call stays with its account, though it is disconnected and another is there", async () => {
  using time = new FakeTime();
  await using service = new KeyService("ada@work", "ada@home");
  const linear = service.key("linear", { several: true });
  const pause = Promise.withResolvers<void>();
  let hasBegun = false;
  const twice = tool({
    name: "twice",
    needs: { linear },
    async run(_input, { needs }) {
      await needs.linear.reveal();
      hasBegun = true;
      await pause.promise;
      return await needs.linear.reveal();
    },
  });
  await using server = await startConnected(linear, { tools: [twice] });
  await connect(await openConnect(server), keyOf("ada@work"));
  const call = await clientOf(server, "2026");
  const answer = textOf(call("twice"));
  await until(() => hasBegun);
  const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
  await visitor.press("/account/accounts/disconnect");
  await connect(await openConnect(server), keyOf("ada@home"));
  time.tick(2);
  pause.resolve();
  assert.match(await answer, /Linear is not connected any more/);
});

for (const method of ["GET", "POST"]) {
  Deno.test(`a call whose account is disconnected after a ${method} ${method === "GET" ? "is made again" : "may have been done, at whichever service"}`, async () => {
    using time = new FakeTime();
    await using service = new KeyService("ada@acme");
    const linear = service.key();
    const github = service.key("github", { title: "GitHub" });
    let disconnect = async () => {};
    const twice = tool({
      name: "twice",
      needs: { linear, github },
      async run(_input, { needs }) {
        await (await needs.linear.fetch("/me", { method })).text();
        await disconnect();
        return await (await needs.github.fetch("/me")).text();
      },
    });
    await using server = await startConnected(linear, {
      github,
      tools: [twice],
    });
    await connect(await openConnect(server), keyOf("ada@acme"));
    const link = `${BASE_URL}/connect/github`;
    await connect(await openConnect(server, { link }), keyOf("ada@acme"));
    const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
    disconnect = async () => {
      for (let left = 2; left > 0; left--) {
        await visitor.press("/account/accounts/disconnect");
      }
      time.tick(2);
    };
    const call = await clientOf(server, "2026");
    const next = method === "GET"
      ? ": call the tool again."
      : ". It may have been done all the same: check before you repeat it.";
    assert.equal(
      await textOf(call("twice")),
      `GitHub is not connected any more${next}`,
    );
  });
}

test.inMemory("an account from before there could be several is one of them, and once", async ({ kv }) => {
  await using service = new KeyService("ada@work", "ada@home");
  const check = undefined;
  for (const options of [{ check }, {}, { several: true }]) {
    const linear = service.key("linear", options);
    await using server = await startConnected(linear, { kv });
    await connect(await openConnect(server), keyOf("ada@work"));
    const call = await clientOf(server, "2026");
    assert.equal(await textOf(call("who")), "200 ada@work");
  }
  const linear = service.key("linear", { several: true });
  await using server = await startConnected(linear, { kv });
  await connect(await openConnect(server), keyOf("ada@home"));
  const call = await clientOf(server, "2026");
  assert.match(await textOf(call("who")), /: ada@home, ada@work\./);
});

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`${generation}: a key that the service refuses stays, and the next call asks for another, or to try it again`, async () => {
    await using service = new KeyService("ada@acme", "ada@new");
    await using server = await startConnected(service.key());
    const call = await clientOf(server, generation);
    const visitor = await connect(await openConnect(server), keyOf("ada@acme"));
    const refuse = () => new Response("", { status: 401 });
    const meanwhile = async (answer: KeyService["answer"]) => {
      service.answer = answer;
      assert.match(await textOf(call("who")), /^401 $/);
      let result = await resultOf(call("who"));
      // The note of it is written in the background.
      await until(async () => {
        result = await resultOf(call("who"));
        return result.isError === true;
      });
      return result;
    };
    const result = await meanwhile(refuse);
    const link = linkOf(result);
    const words =
      /Linear did not take your key on \d{4}-\d\d-\d\d\. Connect your account at Linear again/;
    assert.match(result.content[0].text, words);
    await visitor.look("/accounts");
    assert.match(visitor.words, /As ada@acme .* Linear did not take its key/);
    // It is tried on the page, and is not taken yet.
    visitor.page = await visitor.browser.open(link);
    assert.match(visitor.words, /did not take its key .* Try it again/);
    await visitor.press("/connect/linear", { answer: "again" });
    assert.match(visitor.words, /Linear does not take this key \(401\)/);
    assert.equal(linkOf(await resultOf(call("who"))), link);
    service.answer = undefined;
    await visitor.press("/connect/linear", { answer: "again" });
    assert.match(visitor.words, /Connected as ada@acme/);
    assert.equal(await textOf(call("who")), "200 ada@acme");
    await visitor.look("/accounts");
    assert.doesNotMatch(visitor.words, /did not take/);
    // Another takes its place.
    await meanwhile(refuse);
    service.answer = undefined;
    await connect(await openConnect(server), keyOf("ada@new"));
    assert.equal(await textOf(call("who")), "200 ada@new");
  });
}

Deno.test("an error that quotes the key leaves it in no log and no answer", async () => {
  await using service = new KeyService("ada@acme");
  const linear = service.key();
  const key = keyOf("ada@acme");
  const quote = tool({
    name: "quote",
    input: z.object({ isForModel: z.boolean() }),
    needs: { linear },
    async run({ isForModel }, { needs }) {
      const words = `no such key ${await needs.linear.reveal()}`;
      const cause = new Error(words);
      throw isForModel ? new ToolError(words) : new Error("x", { cause });
    },
  });
  const log = recordLog();
  await using server = await startConnected(linear, { ...log, tools: [quote] });
  await connect(await openConnect(server), key);
  const call = await clientOf(server, "2026");
  const told = await textOf(call("quote", { isForModel: true }));
  assert.equal(told, "no such key (hidden)");
  assert.match(await textOf(call("quote", { isForModel: false })), /Internal/);
  const lines = log.events.map((event) => jsonLine(event)).join();
  assert.match(lines, /Internal error.*accounts_flow_test/);
  assert.doesNotMatch(lines, new RegExp(key));
});
