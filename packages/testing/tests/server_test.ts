/**
 * The test kit's server: its catalogue, the surroundings of calls, a real port.
 */
import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import * as z from "zod";
import {
  CatalogueError,
  ConfigError,
  prompt,
  resource,
  secret,
  service,
  ServiceError,
  tool,
} from "../../../src/mod.ts";
import { eachRevision, serveTest, testServer } from "../mod.ts";
import {
  build,
  edit,
  everything,
  greet,
  note,
  review,
  whoami,
} from "./tools.ts";

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
    assert.match(
      listed.cost,
      /^your list costs about \d,\d{3} tokens, tool_\d+ \d\d of them$/,
    );
    assert.equal(listed.resources.length, 0);
    assert.equal(listed.resourceTemplates[0].uriTemplate, "notes://{id}");
    assert.equal(listed.prompts[0].name, "review");
  }));

Deno.test("clock is the server's time: a task is forgotten a day after its end", async () => {
  let milliseconds = Date.now();
  const clock = () => milliseconds;
  await using server = await testServer({ ...everything, clock });
  const task = await server.startTask(build, { n: 1 }, { answers: ["accept"] });
  await task.result();
  assert.equal((await task.status()).status, "completed");
  milliseconds += 25 * 60 * 60 * 1000;
  await assert.rejects(task.status(), { code: -32602 });
});

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
    const headers = server.headersOf({ subject: "eve" });
    const other = await server.fetch("/me", { headers });
    assert.equal(await other.text(), "eve");
    assert.equal((await server.call(greet)).text, "2026-07-28 EU");
  }
});

async function connect(
  url: string,
  headers?: Record<string, string>,
): Promise<Client> {
  const client = new Client({ name: "own", version: "1" });
  const requestInit = { headers };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit }),
  );
  return client;
}

Deno.test("serveTest() answers a client of one's own, as the caller it names", async () => {
  await using served = await serveTest({ tools: [whoami] });
  const ada = served.server.headersOf({ subject: "ada" });
  for (const headers of [undefined, ada]) {
    const client = await connect(served.url, headers);
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

Deno.test("headersOf() may put a provider behind the caller", async () => {
  await using served = await serveTest(everything);
  const subjects = ["Tea?"];
  const api = { "/inbox": { subjects } };
  const headers = served.server.headersOf({ subject: "ada" }, api);
  const client = await connect(served.url, headers);
  const { structuredContent } = await client.callTool({
    name: "search_mail",
    arguments: { query: "tea" },
  });
  assert.deepEqual(structuredContent, { subjects });
  await client.close();
});

Deno.test("read() and prompt() tell what was thrown", () =>
  eachRevision(async (revision) => {
    const fail = () => {
      throw new RangeError("no such page");
    };
    await using server = await testServer({
      resources: [resource({ uri: "notes://a", name: "a", read: fail })],
      prompts: [prompt({ name: "p", get: fail })],
      revision,
    });
    await assert.rejects(
      server.read("notes://a"),
      /notes:\/\/a threw RangeError: no such page/,
    );
    await assert.rejects(server.prompt("p"), /p threw RangeError/);
  }));

Deno.test("serveTest() refuses a caller that the test does not know", async () => {
  await using served = await serveTest({ tools: [whoami] });
  const response = await fetch(served.url, {
    method: "POST",
    headers: { authorization: "Bearer guess" },
  });
  await response.body?.cancel();
  assert.equal(response.status, 401);
});
