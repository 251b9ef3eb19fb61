/** Settings, services and the hook around calls, as their author tests them. */
import assert from "node:assert/strict";
import {
  type Around,
  defineServer,
  prompt,
  resource,
  service,
  tool,
  ToolError,
  z,
} from "../../../src/mod.ts";
import { eachRevision, testServer } from "../mod.ts";
import { build, greet, searchMail, whoami } from "./tools.ts";

Deno.test("services start with the server and stop with it", async () => {
  const events: string[] = [];
  const pool = service({
    name: "pool",
    settings: { POOL_URL: z.url() },
    start({ settings }) {
      events.push("start");
      return { query: () => `row of ${settings.POOL_URL}` };
    },
    stop: () => void events.push("stop"),
  });
  const rows = tool({
    name: "rows",
    services: { pool },
    run: (_input, { services }) => services.pool.query(),
  });
  {
    const env = { POOL_URL: "db://a" };
    await using server = await testServer({ tools: [rows], env });
    assert.equal((await server.call(rows)).text, "row of db://a");
    assert.equal((await server.call(rows)).text, "row of db://a");
    assert.deepEqual(events, ["start"]);
  }
  assert.deepEqual(events, ["start", "stop"]);
});

Deno.test("around runs around calls, and may refuse them or replace the answer", () =>
  eachRevision(async (revision) => {
    const audit: string[] = [];
    await using server = await testServer({
      tools: [greet, whoami],
      revision,
      async around({ tool, context: { caller } }, next) {
        if (caller.subject === "eve") throw new ToolError("The quota is used.");
        const result = await next();
        audit.push(`${caller.subject} ${tool.name}`);
        if (tool.name === "whoami") return result;
        return { content: [{ type: "text", text: "replaced" }] };
      },
    });
    const eve = await server.as({ subject: "eve" }).call(greet);
    assert.deepEqual([eve.isError, eve.text], [true, "The quota is used."]);
    const ada = server.as({ subject: "ada" });
    assert.equal((await ada.call(greet)).text, "replaced");
    assert.equal((await ada.call(whoami)).structured.subject, "ada");
    assert.deepEqual(audit, ["ada greet", "ada whoami"]);
  }));

Deno.test("a service starts once, after those it needs, and stops before them", async () => {
  const events: string[] = [];
  const make = (name: string, services = {}) =>
    service({
      name,
      services,
      start: () => void events.push(`start ${name}`),
      stop: () => void events.push(`stop ${name}`),
    });
  const pool = make("pool");
  const cache = make("cache", { pool });
  const tools = ["a", "b"].map((name) =>
    tool({ name, services: { cache, pool }, run: () => "" })
  );
  {
    await using server = await testServer({ tools });
    await Promise.all([server.call("a"), server.call("b")]);
  }
  assert.deepEqual(events, [
    "start pool",
    "start cache",
    "stop cache",
    "stop pool",
  ]);
});

Deno.test("settings are parsed for tools, resources, prompts and routes", () =>
  eachRevision(async (revision) => {
    const settings = { PAGE_SIZE: z.coerce.number().default(10) };
    const name = "page";
    const text = ({ PAGE_SIZE }: { PAGE_SIZE: number }) => `${PAGE_SIZE + 1}`;
    await using server = await testServer({
      tools: [
        tool({ name, settings, run: (_, { settings }) => text(settings) }),
      ],
      resources: [resource({
        uri: "page://size",
        name,
        settings,
        read: (_, { settings }) => text(settings),
      })],
      prompts: [
        prompt({ name, settings, get: (_, { settings }) => text(settings) }),
      ],
      settings,
      routes: (app, { settings }) => {
        app.get("/size", (c) => c.text(`${settings.PAGE_SIZE}`));
      },
      env: { PAGE_SIZE: "20" },
      revision,
    });
    assert.equal((await server.call("page")).text, "21");
    assert.equal((await server.read("page://size")).text, "21");
    assert.equal((await server.prompt("page")).text, "21");
    assert.equal(await (await server.fetch("/size")).text(), "20");
  }));

Deno.test("around sees parsed input, and only what passed scopes and schema", () =>
  eachRevision(async (revision) => {
    const seen: unknown[] = [];
    await using server = await testServer({
      tools: [searchMail],
      revision,
      around({ input }, next) {
        seen.push(input);
        return next();
      },
    });
    const upstream = { "/inbox": { subjects: [] } };
    await server.call(searchMail, { query: "tea" }, { upstream });
    await server.call("search_mail", { query: 1 }, { upstream });
    const eve = server.as({ subject: "eve", scopes: [] });
    await assert.rejects(eve.call(searchMail, { query: "" }), { status: 403 });
    assert.deepEqual(seen, [{ query: "tea", limit: 10 }]);
  }));

Deno.test("around can answer from a cache, without the tool", () =>
  eachRevision(async (revision) => {
    let runs = 0;
    const count = tool({ name: "count", run: () => `${++runs}` });
    const cache = new Map<string, Awaited<ReturnType<Around>>>();
    await using server = await testServer({
      tools: [count],
      revision,
      async around({ tool }, next) {
        const known = cache.get(tool.name) ?? await next();
        cache.set(tool.name, known);
        return known;
      },
    });
    assert.equal((await server.call(count)).text, "1");
    assert.equal((await server.call(count)).text, "1");
    assert.equal(runs, 1);
  }));

Deno.test("around runs around the work of a task", async () => {
  const ends: unknown[] = [];
  await using server = await testServer({
    tools: [build],
    async around({ tool }, next) {
      const { structuredContent } = await next();
      ends.push([tool.name, structuredContent]);
      return { content: [], structuredContent: { doubled: 0 } };
    },
  });
  const task = await server.startTask(build, { n: 4 }, { answers: ["accept"] });
  assert.deepEqual(ends, []);
  assert.equal((await task.result()).structured.doubled, 0);
  assert.deepEqual(ends, [["build", { doubled: 8 }]]);
});

Deno.test("what around throws by mistake is shown", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({
      tools: [greet],
      revision,
      around() {
        throw new TypeError("no quota");
      },
    });
    await assert.rejects(server.call(greet), /greet threw TypeError: no quota/);
  }));

Deno.test("around learns of what the tool threw, and may answer instead", () =>
  eachRevision(async (revision) => {
    const seen: string[] = [];
    const fail = tool({
      name: "fail",
      run() {
        throw new ToolError("No such room.");
      },
    });
    const crash = tool({
      name: "crash",
      run() {
        throw new TypeError("a secret");
      },
    });
    await using server = await testServer({
      tools: [fail, crash],
      revision,
      async around({ tool }, next) {
        try {
          return await next();
        } catch (error) {
          seen.push(`${tool.name} ${error}`);
          if (tool.name === "fail") throw error;
          throw new ToolError("It is broken today.");
        }
      },
    });
    const refused = await server.call(fail);
    assert.deepEqual([refused.isError, refused.text], [true, "No such room."]);
    assert.equal((await server.call(crash)).text, "It is broken today.");
    assert.deepEqual(seen, [
      "fail ToolError: No such room.",
      "crash TypeError: a secret",
    ]);
  }));

Deno.test("a question passes through around, which runs again with the answer where the tool does", async () => {
  const sure = tool({
    name: "sure",
    run: async (_input, { ask }) =>
      (await ask({ message: "Sure?", schema: z.object({}) })).action,
  });
  for (
    const [revision, runs] of [["2025-11-25", 1], ["2026-07-28", 2]] as const
  ) {
    const results: unknown[] = [];
    let begun = 0;
    await using server = await testServer({
      tools: [sure],
      revision,
      async around(_call, next) {
        begun++;
        const result = await next();
        results.push(result.content);
        return result;
      },
    });
    const { text } = await server.call(sure, {}, { answers: ["accept"] });
    assert.deepEqual([text, begun], ["accept", runs]);
    assert.deepEqual(results, [[{ type: "text", text: "accept" }]]);
  }
});

Deno.test("a tool that returns what is no content is told to declare output", () =>
  eachRevision(async (revision) => {
    const rows = tool({
      name: "rows",
      run: (() => [{ id: 1 }]) as unknown as () => string,
    });
    await using server = await testServer({ tools: [rows], revision });
    await assert.rejects(
      server.call(rows),
      /tool rows returned something that is neither text nor content blocks: declare `output`/,
    );
  }));

Deno.test("around sees the author's own tool, and the settings and services it declares", () =>
  eachRevision(async (revision) => {
    const counter = service({ name: "counter", start: () => ({ count: 7 }) });
    const settings = { UNIT: z.string().default("C") };
    const mine = tool({
      name: "mine",
      settings,
      services: { counter },
      run: () => "ran",
    });
    const seen: unknown[] = [];
    await using server = await testServer({
      tools: [mine, sure],
      revision,
      around({ tool, context: { settings, services } }, next) {
        seen.push(tool === mine || tool === sure, { ...settings }, {
          ...services,
        });
        return next();
      },
    });
    assert.equal((await server.call(mine)).text, "ran");
    assert.equal((await server.call(sure)).text, "sure");
    assert.deepEqual(seen, [
      true,
      { UNIT: "C" },
      { counter: { count: 7 } },
      true,
      {},
      {},
    ]);
  }));

const sure = tool({ name: "sure", run: () => "sure" });

Deno.test("complete is given services, settings and the caller", () =>
  eachRevision(async (revision) => {
    const issues = service({
      name: "issues",
      start: () => new Map([["12", "ada"], ["17", "ada"], ["18", "eve"]]),
    });
    const needs = { services: { issues }, settings: { PREFIX: z.string() } };
    const issue = resource({
      ...needs,
      uri: "issues://{number}",
      name: "issue",
      complete: {
        number: (value, _known, { caller, services, settings }) =>
          [...services.issues].filter(([number, owner]) =>
            owner === caller.subject &&
            number.startsWith(settings.PREFIX + value)
          ).map(([number]) => number),
      },
      read: ({ number }, { services }) => services.issues.get(number),
    });
    const summarize = prompt({
      ...needs,
      name: "summarize",
      args: { number: z.string(), tone: z.string() },
      complete: {
        tone: async (_value, known, { services }) => [
          `for ${await services.issues.get(known.number)}`,
        ],
      },
      get: ({ number }) => number,
    });
    await using server = await testServer({
      resources: [issue],
      prompts: [summarize],
      env: { PREFIX: "1" },
      revision,
    });
    const ada = server.as({ subject: "ada" });
    assert.deepEqual(await ada.complete(issue, "number", ""), ["12", "17"]);
    assert.deepEqual(await ada.complete(issue, "number", "7"), ["17"]);
    const known = { number: "18" };
    assert.deepEqual(await ada.complete(summarize, "tone", "", known), [
      "for eve",
    ]);
    assert.deepEqual(await ada.complete(summarize, "number", ""), []);
  }));

Deno.test("complete cannot ask: its request has no way to", () =>
  eachRevision(async (revision) => {
    const members: string[] = [];
    const hello = prompt({
      name: "hello",
      args: { name: z.string() },
      complete: {
        name(_value, _known, context) {
          for (const name of ["ask", "sample", "roots", "progress"] as const) {
            // @ts-expect-error: the types have none of them either
            if (context[name] !== undefined) members.push(name);
          }
          return [];
        },
      },
      get: ({ name }) => name,
    });
    await using server = await testServer({ prompts: [hello], revision });
    assert.deepEqual(await server.complete(hello, "name", ""), []);
    assert.deepEqual(members, []);
  }));

Deno.test("complete calls the provider's API as the caller", async () => {
  const label = prompt({
    name: "label",
    args: { label: z.string() },
    complete: {
      label: async (value, _known, { upstream, signal }) => {
        const response = await upstream.fetch(`/labels?q=${value}`, { signal });
        return await response.json();
      },
    },
    get: ({ label }) => label,
  });
  await using server = await testServer({ prompts: [label] });
  const upstream = { "/labels?q=b": ["bug"] };
  const proposed = await server.complete(label, "label", "b", {}, { upstream });
  assert.deepEqual(proposed, ["bug"]);
});

Deno.test("defineServer() types the services and settings of routes", async () => {
  const inbox = service({ name: "inbox", start: (): string[] => [] });
  const options = defineServer({
    name: "deliveries",
    version: "1.0.0",
    services: { inbox },
    settings: { GREETING: z.string().default("Thanks") },
    routes(app, { services, settings }) {
      app.post("/hook", async (c) => {
        services.inbox.push(await c.req.text());
        return c.text(settings.GREETING.toUpperCase());
      });
      // @ts-expect-error: no such service
      services.outbox;
    },
  });
  await using server = await testServer(options);
  const init = { method: "POST", body: "tea" };
  const response = await server.fetch("/hook", init);
  assert.equal(await response.text(), "THANKS");
});
