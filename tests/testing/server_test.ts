/** The test kit's server: what it offers, what surrounds calls, a real port. */
import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import * as z from "zod";
import {
  CatalogueError,
  ConfigError,
  secret,
  service,
  ServiceError,
  tool,
  ToolError,
} from "../../src/mod.ts";
import { eachRevision, serveTest, testServer } from "../../src/testing.ts";
import { edit, everything, greet, note, review, whoami } from "./tools.ts";

Deno.test("read() gives contents and their text, and refuses what is not there", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const { contents, text } = await server.read("notes://1");
    assert.deepEqual([contents[0].uri, text], ["notes://1", "Note 1"]);
    await assert.rejects(server.read("notes://none"), {
      name: "RefusedError",
      code: revision === "2025-11-25" ? -32002 : -32602,
    });
    const unicode = await server.read("notes://ü");
    assert.equal(unicode.text, "Note ü");
  }));

Deno.test("prompt() fills in a prompt, by itself or by name", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    for (const which of [review, "review"]) {
      const { messages, text } = await server.prompt(which, { code: "a()" });
      assert.deepEqual([messages.length, text], [1, "Review a()"]);
    }
    await assert.rejects(server.prompt("review"), { code: -32602 });
  }));

Deno.test("complete() proposes values for prompts and resources", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const known = { code: "a()" };
    assert.deepEqual(await server.complete(review, "style", "x", known), [
      "x a()",
    ]);
    for (const which of [note, "notes://{id}"]) {
      assert.deepEqual(await server.complete(which, "id", "2"), ["21"]);
    }
  }));

Deno.test("list() gives everything as clients see it, page after page", () =>
  eachRevision(async (revision) => {
    const names = Array.from({ length: 250 }, (_, n) => `tool_${n}`);
    const tools = names.map((name) => tool({ name, run: () => "" }));
    await using server = await testServer({ ...everything, tools, revision });
    const listed = await server.list();
    assert.deepEqual(listed.tools.map(({ name }) => name), names);
    assert.equal(listed.resources.length, 0);
    assert.equal(listed.resourceTemplates[0].uriTemplate, "notes://{id}");
    assert.equal(listed.prompts[0].name, "review");
  }));

Deno.test("listen() tells of changes, in order", async () => {
  await using server = await testServer(everything);
  await using changes = await server.listen("notes://1");
  await server.call(edit);
  assert.deepEqual(await changes.next(), { uri: "notes://1" });
  assert.deepEqual(await changes.next(), { list: "tools" });
  const waiting = changes.next();
  await changes[Symbol.asyncDispose]();
  await assert.rejects(waiting, /The subscription has ended/);
});

Deno.test("testServer() refuses wrong settings, definitions and services", async () => {
  const MAIL_KEY = secret(z.string().min(20));
  const search = tool({ name: "s", settings: { MAIL_KEY }, run: () => "" });
  await assert.rejects(
    testServer({ tools: [search], env: { MAIL_KEY: "short" } }),
    (error: Error) =>
      error instanceof ConfigError && /MAIL_KEY/.test(error.message) &&
      !/short/.test(error.message),
  );
  await assert.rejects(testServer({ tools: [greet, greet] }), CatalogueError);
  const pool = service({
    name: "pool",
    start: () => Promise.reject(new Error("no database")),
  });
  await assert.rejects(
    testServer({ tools: [], services: { pool } }),
    ServiceError,
  );
});

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

Deno.test("fetch() reaches own routes as the caller", async () => {
  for (const env of [{}, { BASE_URL: "https://tools.example.com/a" }]) {
    await using server = await testServer({
      ...everything,
      env,
      routes(app, { authenticate }) {
        app.get("/me", async (c) => {
          const { caller } = await authenticate(c.req.raw);
          return c.text(caller.subject);
        });
      },
    });
    const response = await server.as({ subject: "ada" }).fetch("/me");
    assert.equal(await response.text(), "ada");
    assert.equal((await server.call(greet)).text, "2026-07-28 EU");
  }
});

Deno.test("serveTest() answers a client of one's own, as whoever it says", async () => {
  await using served = await serveTest({ tools: [whoami] });
  const ada = served.server.headersOf({ subject: "ada" });
  for (const headers of [undefined, ada]) {
    const client = new Client({ name: "own", version: "1" });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(served.url), {
        requestInit: { headers },
      }),
    );
    const { structuredContent } = await client.callTool({ name: "whoami" });
    assert.deepEqual(structuredContent, {
      subject: headers ? "ada" : "anonymous",
      scopes: "all",
    });
    await client.close();
  }
  const { structured } = await served.server.call(whoami);
  assert.equal(structured.subject, "anonymous");
  await assert.rejects(serveTest({ tools: [greet, greet] }), CatalogueError);
});

Deno.test("serveTest() refuses a caller that the test does not know", async () => {
  await using served = await serveTest({ tools: [whoami] });
  const response = await fetch(served.url, {
    method: "POST",
    headers: { authorization: "Bearer guess" },
  });
  await response.body?.cancel();
  assert.equal(response.status, 401);
});
