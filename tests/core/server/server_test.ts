/** An author's description of a server, and the facts that are added to it. */
import assert from "node:assert/strict";
import { basicAuth } from "@hono/hono/basic-auth";
import { bodyLimit } from "@hono/hono/body-limit";
import { cors } from "@hono/hono/cors";
import { HTTPException } from "@hono/hono/http-exception";
import {
  createServer,
  type ServerOptions,
  service,
  tool,
} from "../../../src/mod.ts";
import { recordLog, SILENT } from "../../kit/log.ts";
import { testServer } from "../../../packages/testing/mod.ts";
import { initialize, rpc, statelessMeta } from "../../kit/message.ts";
import { resultOf, statusOf } from "../../kit/answer.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const hello = tool({ name: "hello", run: () => "hello" });

const AUTHORED = {
  name: "weather",
  title: "The weather",
  version: "7.1.0",
  websiteUrl: "https://weather.example",
  icons: [{ src: "https://weather.example/icon.png", mimeType: "image/png" }],
};

function post(body: unknown): RequestInit {
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "accept": "application/json, text/event-stream",
    },
    body: JSON.stringify(body),
  };
}

const INSTRUCTIONS = "Ask for a city first.";

const described: ServerOptions = {
  ...AUTHORED,
  instructions: INSTRUCTIONS,
  tools: [hello],
};

Deno.test("initialize tells who the author says the server is", async () => {
  await using server = await testServer(described);
  const answer = server.fetch("/mcp", post(initialize("2025-11-25")));
  const { serverInfo, instructions } = await resultOf(answer);
  assert.deepEqual(serverInfo, AUTHORED);
  assert.equal(instructions, INSTRUCTIONS);
});

Deno.test("server/discover tells who the author says the server is", async () => {
  await using server = await testServer(described);
  const init = post(rpc("server/discover", { _meta: statelessMeta() }));
  const headers = {
    ...init.headers,
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "server/discover",
  };
  const result = await resultOf(server.fetch("/mcp", { ...init, headers }));
  assert.equal(result.instructions, INSTRUCTIONS);
  assert(JSON.stringify(result).includes(JSON.stringify(AUTHORED)));
});

Deno.test("pages show the author's title, and settings go before it", async () => {
  for (
    const [env, title] of [[{}, "The weather"], [
      { MCP_TITLE: "Rain" },
      "Rain",
    ]] as const
  ) {
    await using server = await testServer({ ...described, env });
    for (const path of ["/", "/nowhere"]) {
      const page = await server.fetch(path, {
        headers: { accept: "text/html" },
      });
      assert.match(await page.text(), new RegExp(`<title>[^<]*${title}`));
    }
  }
});

Deno.test("routes answer what the server itself does not", async () => {
  const counter = service({ name: "counter", start: () => ({ count: 0 }) });
  await using server = await testServer({
    ...described,
    services: { counter },
    routes(app, { services }) {
      const { counter } = services as { counter: { count: number } };
      app.post(
        "/hook/:id",
        (c) => c.text(`${c.req.param("id")} ${++counter.count}`),
      );
    },
  });
  const hook = () => server.fetch("/hook/a", { method: "POST" });
  assert.equal(await (await hook()).text(), "a 1");
  assert.equal(await (await hook()).text(), "a 2");
  assert.equal(await statusOf(server.fetch("/hook", { method: "POST" })), 404);
});

Deno.test("routes may throw Hono's exceptions, which are answered as they say, and its middleware does", async () => {
  using kv = await Deno.openKv(":memory:");
  const { log, events } = recordLog("debug");
  await using server = createServer({
    ...described,
    kv,
    log,
    routes(app) {
      app.use("/own/*", basicAuth({ username: "jo", password: "pw" }));
      app.use("/own/*", bodyLimit({ maxSize: 3 }));
      app.post("/own/:status", async (c) => {
        const cause = new Error("the text of a cause");
        const message = `said: ${await c.req.text()}`;
        const status = Number(c.req.param("status")) as 409;
        throw new HTTPException(status, { message, cause });
      });
    },
  });
  const ask = async (status: number, body: string, password = "pw") => {
    const response = await server.fetch(
      new Request(`http://localhost/own/${status}`, {
        method: "POST",
        body,
        headers: {
          accept: "text/html",
          authorization: `Basic ${btoa(`jo:${password}`)}`,
          "content-length": String(body.length),
        },
      }),
    );
    const text = await response.text();
    assert.doesNotMatch(text, /cause/);
    return { response, text };
  };
  const { response: unknown } = await ask(409, "one", "wrong");
  assert.equal(unknown.status, 401);
  const asked = unknown.headers.get("www-authenticate");
  assert.equal(asked, 'Basic realm="Secure Area"');
  assert.equal((await ask(409, "four")).response.status, 413);
  const { response: refused, text } = await ask(409, "one");
  assert.deepEqual([refused.status, text], [409, "said: one"]);
  const outcomes = events.map(({ message, level, properties }) => [
    message,
    level,
    properties.status,
    properties.outcome,
    properties.refusal,
  ]);
  assert.deepEqual(
    outcomes,
    [401, 413, 409].map((
      status,
    ) => ["Request", "info", status, "refused", undefined]),
  );
  events.length = 0;
  assert.equal((await ask(503, "one")).response.status, 503);
  // No status of HTTP.
  assert.equal((await ask(42, "one")).response.status, 500);
  assert.deepEqual(
    events.map(({ level }) => level),
    ["warning", "info", "error", "info"],
  );
});

for (
  const path of [
    "/mcp",
    "/health",
    "/token",
    "/.well-known/oauth-protected-resource",
  ]
) {
  Deno.test(`routes never stand in front of ${path}`, async () => {
    const routes: ServerOptions["routes"] = (app) => {
      app.use("*", (c) => Promise.resolve(c.text("mine")));
    };
    await using server = await testServer({ ...described, routes });
    const method = path === "/token" || path === "/mcp" ? "POST" : "GET";
    const response = await server.fetch(path, { method });
    assert.notEqual(await response.text(), "mine");
    const elsewhere = await server.fetch("/elsewhere");
    assert.equal(await elsewhere.text(), "mine");
  });
}

Deno.test("routes decide for themselves about pages of other origins, and are for none of them on loopback", async () => {
  using kv = await Deno.openKv(":memory:");
  const routes: ServerOptions["routes"] = (app) => {
    app.get("/report", (c) => c.text("private"));
    app.post("/do/:what", (c) => c.text("done"));
    app.use("/open", cors({ origin: "https://friend.example" }));
    app.get("/open", (c) => c.text("open"));
    // An address of the server's own, with another method.
    app.get("/token", (c) => c.text("mine"));
  };
  const allowed = async (
    env: Record<string, string>,
    method: string,
    path: string,
    origin = "https://evil.example",
  ) => {
    await using server = createServer({ ...described, kv, routes, env });
    const send = async (method: string, headers: HeadersInit) => {
      const url = `http://localhost${path}`;
      const response = await server.fetch(
        new Request(url, { method, headers: { origin, ...headers } }),
      );
      await response.body?.cancel();
      const { headers: sent, status } = response;
      return [status, sent.get("access-control-allow-origin")];
    };
    const asked = { "access-control-request-method": method };
    return [await send("OPTIONS", asked), await send(method, {})];
  };
  const anywhere = { HOST: "0.0.0.0" };
  const here = { HOST: "127.0.0.1" };
  const own = [["GET", "/report"], ["POST", "/do/it"], ["GET", "/token"]];
  for (const [method, path] of own) {
    const [[, preflight], [status, origin]] = await allowed(
      anywhere,
      method,
      path,
    );
    assert.deepEqual([preflight, status, origin], [null, 200, null], path);
    const refused = await allowed(here, method, path);
    assert.deepEqual(refused, [[403, null], [403, null]], path);
    const listed = { ...here, ALLOWED_ORIGINS: "https://evil.example" };
    assert.equal((await allowed(listed, method, path))[1][0], 200, path);
    const local = "http://localhost:5173";
    assert.equal((await allowed(here, method, path, local))[1][0], 200, path);
  }
  const friend = "https://friend.example";
  assert.deepEqual(await allowed(anywhere, "GET", "/open", friend), [
    [204, friend],
    [200, friend],
  ]);
  for (const env of [anywhere, here]) {
    for (const path of ["/health", "/llms.txt", "/nothing"]) {
      const [preflight, [, origin]] = await allowed(env, "GET", path);
      assert.deepEqual([...preflight, origin], [204, "*", "*"], path);
    }
    assert.equal((await allowed(env, "POST", "/token"))[0][1], "*");
  }
});

for (
  const [method, path] of [["post", "/mcp"], ["get", "/mcp"], [
    "get",
    "/health",
  ], ["post", "/token"]] as const
) {
  Deno.test(`routes are refused ${method} ${path} at the start`, async () => {
    const routes: ServerOptions["routes"] = (app) => {
      app[method](path, (c) => c.text("mine"));
    };
    await assert.rejects(
      testServer({ ...described, routes }),
      /is the server's own/,
    );
  });
}

Deno.test("createServer() tells once that a setting is misspelt", async () => {
  using kv = await Deno.openKv(":memory:");
  const { log, events } = recordLog();
  const env = { ALLOWED_ORIGIN: "https://app.example.com" };
  await using server = createServer({ ...described, kv, log, env });
  await server.start();
  await server.start();
  assert.deepEqual(events.map(({ level, message }) => [level, message]), [
    ["warning", "ALLOWED_ORIGIN is not read: is ALLOWED_ORIGINS meant?"],
  ]);
});

Deno.test("authenticate() in a route refuses with the challenge of /mcp", async () => {
  using kv = await Deno.openKv(":memory:");
  await using server = createServer({
    ...described,
    kv,
    log: SILENT,
    env: { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "t".repeat(32) },
    routes(app, { authenticate }) {
      app.get("/me", async (c) => {
        const { caller } = await authenticate(c.req.raw);
        return c.text(caller.subject);
      });
    },
  });
  const get = (token: string) =>
    server.fetch(
      new Request("http://localhost/me", {
        headers: { authorization: `Bearer ${token}` },
      }),
    );
  const refused = await get("wrong");
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get("www-authenticate")!, /^Bearer/);
  await refused.body?.cancel();
  const allowed = await get("t".repeat(32));
  assert.equal(await allowed.text(), "operator");
});

Deno.test("a service that does not start is told once a second, and each answer has a reference", async () => {
  using _time = new FakeTime();
  using kv = await Deno.openKv(":memory:");
  const queue = service({
    name: "queue",
    start: () => Promise.reject(new Error("no connection")),
  });
  const job = tool({ name: "job", services: { queue }, run: () => "done" });
  const { log, events } = recordLog("debug");
  await using server = createServer({ ...described, kv, log, tools: [job] });
  const references: string[] = [];
  for (let n = 0; n < 3; n++) {
    const response = await server.fetch(new Request("http://localhost/"));
    assert.equal(response.status, 503);
    assert.equal(response.headers.get("retry-after"), "5");
    references.push((await response.json()).reference);
  }
  assert.equal(new Set(references).size, 3);
  const [{ level, properties }, ...others] = events;
  assert.deepEqual(others, []);
  assert.deepEqual([level, properties.reference], ["warning", references[0]]);
  assert.match(String(properties.error), /service queue.*no connection/);
});

Deno.test("close() may be called again, side by side and later, and stops a service once", async () => {
  let stopped = 0;
  const gate = Promise.withResolvers<void>();
  const slow = service({
    name: "slow",
    start: () => 1,
    async stop() {
      await gate.promise;
      stopped++;
    },
  });
  const kv = await Deno.openKv(":memory:");
  const server = createServer({
    ...AUTHORED,
    kv,
    tools: [tool({ name: "t", services: { slow }, run: () => "" })],
  });
  await server.start();
  server.stop();
  server.close();
  const closing = server.close().then(() => stopped);
  setTimeout(gate.resolve, 0);
  assert.equal(await closing, 1);
  await server.close();
  kv.close();
  assert.equal(stopped, 1);
});

Deno.test("fetch() answers what fails before a route is found, and any page may read it", async () => {
  using kv = await Deno.openKv(":memory:");
  await using server = createServer({ ...described, kv, env: {}, log: SILENT });
  // Without BASE_URL only a name of this machine says where the server is.
  const answer = await server.fetch(
    new Request("https://tools.example.com/health?code=SECRET"),
  );
  assert.equal(answer.status, 500);
  assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  assert.equal((await answer.json()).error, "server_error");
});
