/** Accounts at services, as tests of tools give them. */
import assert from "node:assert/strict";
import {
  account,
  personalKey,
  prompt,
  resource,
  service,
  tool,
  z,
} from "../../../src/mod.ts";
import type { Account } from "../../../src/mod.ts";
import { httpApi } from "../../../src/api.ts";
import {
  eachRevision,
  type ProviderApi,
  serveApi,
  testServer,
} from "../mod.ts";

const notes = personalKey("notes", {
  api: "https://notes.example/v1",
  header: "x-notes-key",
  several: true,
});

const read = tool({
  name: "read",
  input: z.object({ path: z.string() }),
  needs: { notes },
  async run({ path }, { needs }) {
    const response = await needs.notes.fetch(path);
    return `${await response.text()} for ${needs.notes.label}`;
  },
});

const later = tool({
  name: "later",
  needs: { notes },
  task: { durable: true },
  async run(_input, { needs, step, sleep }) {
    await sleep("a day", 86_400);
    return await step(
      "reveal",
      async () => `${(await needs.notes.reveal()).length} letters`,
    );
  },
});

const tools = [read, later];

Deno.test("call() reaches the APIs in `needs` as the tool would reach the service", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools, revision });
    const needs = {
      notes: {
        "/me": (request: Request) =>
          new Response(request.headers.get("x-notes-key")),
      },
    };
    const input = { path: "/me", account: "work" };
    const { text } = await server.call("read", input, { needs });
    assert.equal(text, "(hidden) for work");
    const there = { path: "https://notes.example/v1/me" };
    const absolute = await server.call(read, there, { needs });
    assert.match(absolute.text, /^\(hidden\)/);
    await assert.rejects(
      server.call(read, { path: "https://evil.example/me" }, { needs }),
      /the key stays here/,
    );
    await assert.rejects(
      server.call(read, { path: "/other" }, { needs }),
      /The tool called GET \/other of notes, for which the test has no route/,
    );
  }));

Deno.test("an assertion that fails in a route fails the call, also if the tool catches it", async () => {
  const careful = tool({
    name: "careful",
    needs: { notes },
    run: (_input, { needs, upstream }) =>
      Promise.all([needs.notes.fetch("/me"), upstream.fetch("/me")])
        .then(() => "read", () => "not read"),
  });
  await using server = await testServer({ tools: [careful] });
  const failing = (error: Error) => ({
    "/me": (): Response => {
      throw error;
    },
  });
  const call = (own: ProviderApi, upstream: ProviderApi = { "/me": "ada" }) =>
    server.call(careful, {}, { needs: { notes: own }, upstream });
  const lost = failing(new TypeError("lost"));
  const failed = failing(new assert.AssertionError({ message: "no tea" }));
  assert.equal((await call(lost)).text, "not read");
  await assert.rejects(call(failed), { message: "no tea" });
  await assert.rejects(call(lost, failed), { message: "no tea" });
});

Deno.test("a call says which assertion failed in an API that listens, and what has no route, once", async () => {
  let isWrong = true;
  await using api = serveApi({
    "/me": () => {
      assert(!isWrong, "no tea");
      return new Response("ada");
    },
  });
  const rates = service({
    name: "rates",
    start: () => httpApi({ name: "rates", api: api.url }),
  });
  const ask = tool({
    name: "ask",
    input: z.object({ path: z.string() }),
    services: { rates },
    run: async ({ path }, { services }) =>
      await (await services.rates.fetch(path)).text(),
  });
  await using server = await testServer({ tools: [ask] });
  await assert.rejects(server.call(ask, { path: "/me" }), {
    name: "AssertionError",
    message: "no tea",
  });
  await assert.rejects(
    server.call(ask, { path: "/you" }),
    /^Error: The tool called GET \/you of the API, for which the test has no/,
  );
  isWrong = false;
  assert.equal((await server.call(ask, { path: "/me" })).text, "ada");
});

Deno.test("an API that listens says at its end what had no route, if no call has said so", async () => {
  await assert.rejects(async () => {
    await using api = serveApi({ "/me": "ada" });
    await (await fetch(`${api.url}/you`)).body?.cancel();
  }, /GET \/you of the API, for which the test has no route/);
});

Deno.test("call() gives a service from upstream to a caller who has signed in nowhere", async () => {
  const graph = account("graph", {
    from: "upstream",
    api: "https://graph.example/v1",
  });
  const me = tool({
    name: "me",
    needs: { graph },
    run: async (_input, { needs }) =>
      await (await needs.graph.fetch("/me")).text(),
  });
  await using server = await testServer({ tools: [me] });
  const needs = { graph: { "/me": () => new Response("ada") } };
  assert.equal((await server.call(me, {}, { needs })).text, "ada");
});

Deno.test("call() of a tool whose accounts the test does not give fails with words", async () => {
  await using server = await testServer({ tools });
  for (const options of [undefined, { needs: {} }]) {
    await assert.rejects(
      server.call(read, { path: "/me" }, options),
      /read needs an account at notes.*give the call \{ needs: \{ notes: /,
    );
  }
});

Deno.test("read(), prompt() and complete() reach the APIs in `needs` too", async () => {
  const about = async ({ needs }: { needs: { notes: Account } }) =>
    `${await (await needs.notes.fetch("/me")).text()} ${needs.notes.label}`;
  const note = resource({
    uri: "notes://{account}/{id}",
    name: "note",
    needs: { notes },
    complete: { id: async (_value, _known, context) => [await about(context)] },
    read: (_variables, context) => about(context),
  });
  const greeting = prompt({
    name: "greeting",
    needs: { notes },
    get: (_args, context) => about(context),
  });
  await using server = await testServer({
    resources: [note],
    prompts: [greeting],
  });
  const options = { needs: { notes: { "/me": () => new Response("me") } } };
  const account = { account: "work" };
  const read = await server.read("notes://work/1", options);
  const written = await server.prompt(greeting, account, options);
  const proposed = await server.complete(note, "id", "", account, options);
  assert.deepEqual([read.text, written.text, ...proposed], [
    "me work",
    "me work",
    "me work",
  ]);
  await assert.rejects(server.read("notes://work/1"), /note needs an account/);
});

Deno.test("call() and startTask() take the argument `account`, and that a person has no account", async () => {
  const empty = tool({
    name: "empty",
    input: z.object({}),
    needs: { notes },
    run: (_input, { needs }) => `${needs.notes.label}`,
  });
  const used = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const twice = tool({
    name: "twice",
    needs: { notes },
    async run(_input, { needs }) {
      await needs.notes.reveal();
      used.resolve();
      await gone.promise;
      return await needs.notes.fetch("/me").then(String);
    },
  });
  await using server = await testServer({ tools: [empty, later, twice] });
  const needs: { notes?: ProviderApi } = { notes: {} };
  const { text } = await server.call(empty, { account: "bob" }, { needs });
  assert.match(text, /^bob/);
  const task = await server.startTask(later, { account: "bob" }, { needs });
  await server.advance(86_400);
  assert.equal((await task.result()).text, "12 letters");
  const running = server.call(twice, {}, { needs });
  await used.promise;
  needs.notes = undefined;
  gone.resolve();
  const ended = await running;
  assert.equal(ended.isError, true);
  assert.match(ended.text, /notes is not connected any more/);
  const none = await server.call(empty, {}, { needs });
  assert.equal(none.isError, true);
  assert.equal(none.text, "The person has not connected notes.");
});

for (const method of ["GET", "POST"]) {
  Deno.test(`a call whose account the test disconnects after a ${method} has the words of a server`, async () => {
    const twice = tool({
      name: "twice",
      needs: { notes },
      async run(_input, { needs: { notes } }) {
        await (await notes.fetch("/me", { method })).body?.cancel();
        needs.notes = undefined;
        return await notes.fetch("/me").then(String);
      },
    });
    const needs: { notes?: ProviderApi } = { notes: { "/me": {} } };
    await using server = await testServer({ tools: [twice] });
    const { text } = await server.call(twice, {}, { needs });
    const next = method === "GET"
      ? ": call the tool again."
      : ". It may have been done all the same: check before you repeat it.";
    assert.equal(text, `notes is not connected any more${next}`);
  });
}

Deno.test("durable work whose account is disconnected after a sleep may have acted before", async () => {
  const acted = Promise.withResolvers<void>();
  const slow = tool({
    name: "slow",
    needs: { notes },
    task: { durable: true },
    async run(_input, { needs, sleep, step }) {
      await step("act", async () => {
        const response = await needs.notes.fetch("/me", { method: "POST" });
        await response.body?.cancel();
      });
      acted.resolve();
      await sleep("night", 86_400);
      return await needs.notes.fetch("/me").then(String);
    },
  });
  const needs: { notes?: ProviderApi } = { notes: { "/me": {} } };
  await using server = await testServer({ tools: [slow] });
  const task = await server.startTask(slow, {}, { needs });
  await acted.promise;
  needs.notes = undefined;
  await server.advance(86_400);
  assert.equal(
    (await task.result()).text,
    "notes is not connected any more. " +
      "It may have been done all the same: check before you repeat it.",
  );
});

Deno.test("durable work has its accounts after a sleep", async () => {
  await using server = await testServer({ tools });
  const needs = { notes: {} };
  const task = await server.startTask(later, {}, { needs });
  await server.advance(86_400);
  assert.equal((await task.result()).text, "12 letters");
});
