import assert from "node:assert/strict";
import { statusOf } from "../../kit/answer.ts";
import { IMPLEMENTATION, startServer } from "../../kit/server.ts";
import { createServer } from "../../../src/server.ts";
import type { Server } from "../../../src/core/server/server_options.ts";
import {} from "../../../src/core/pages/callback_page.tsx";
import { tool } from "../../../src/authoring/tool.ts";
import { SILENT } from "../../kit/log.ts";

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

async function withApp(
  test: (app: Server) => Promise<void>,
  environment: Record<string, string> = {},
): Promise<void> {
  const kv = await Deno.openKv(":memory:");
  const searchMail = tool({
    name: "search_mail",
    description: "Find messages in the caller's mailbox.",
    run: () => "found",
  });
  const app = createServer({
    log: SILENT,
    ...IMPLEMENTATION,
    title: "Mail Tools",
    tools: [searchMail],
    kv,
    env: environment,
  });
  try {
    await test(app);
  } finally {
    app.stop();
    await app.close();
    kv.close();
  }
}

function get(app: Server, path: string, headers: HeadersInit = BROWSER) {
  return app.fetch(new Request(`http://localhost:3000${path}`, { headers }));
}

Deno.test("GET / says what this server is and how to connect", () =>
  withApp(async (app) => {
    const response = await get(app, "/");
    assert.equal(response.status, 200);
    const html = await response.text();
    assert.match(html, /Connect to <bdi>Mail Tools/);
    assert.match(html, /Find messages in the caller&#39;s mailbox\./);
    assert.match(
      html,
      /claude mcp add --transport http mail-tools http:\/\/localhost:3000\/mcp/,
    );
    assert.match(html, /deploy it, or try a tunnel and set BASE_URL/);
    assert.match(html, /Claude and ChatGPT need a public address/);
  }));

Deno.test("GET / of a public address sends Claude and ChatGPT there", () =>
  withApp(async (app) => {
    const html = await (await get(app, "/")).text();
    assert.match(html, /Give this address to Claude, ChatGPT or another/);
    assert.doesNotMatch(html, /need a public address/);
  }, { BASE_URL: "https://tools.example.com" }));

Deno.test("GET /mcp stays 405 and shows a browser how to connect", () =>
  withApp(async (app) => {
    const response = await get(app, "/mcp");
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST, DELETE, OPTIONS");
    assert.match(await response.text(), /Connect to <bdi>Mail Tools/);

    for (const accept of ["text/event-stream", "application/json, text/html"]) {
      const answer = await get(app, "/mcp", { accept });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.get("allow"), "POST, DELETE, OPTIONS");
      assert.match(answer.headers.get("content-type")!, /json/);
      await answer.body?.cancel();
    }
  }));

Deno.test("GET / shows the header that a static credential travels in", () =>
  withApp(async (app) => {
    const html = await (await get(app, "/")).text();
    assert.match(html, /--header &quot;x-my-key: YOUR_KEY&quot;/);
    assert.doesNotMatch(html, /hunter2-and-some-more/);
  }, {
    AUTH_STRATEGY: "api_key",
    API_KEY: "hunter2-and-some-more",
    API_KEY_HEADER: "x-my-key",
  }));

Deno.test("an unknown address is a page for a browser and JSON for the rest", () =>
  withApp(async (app) => {
    const page = await get(app, "/nowhere");
    assert.equal(page.status, 404);
    assert.match(await page.text(), /There is nothing at this address/);
    const json = await get(app, "/nowhere", {});
    assert.equal(json.status, 404);
    assert.deepEqual(await json.json(), {
      error: "not_found",
      error_description: "There is nothing at this address",
    });
  }));

Deno.test("/mcp/ is /mcp", () =>
  withApp(async (app) => {
    const ask = (path: string, method: string) =>
      app.fetch(
        new Request(`http://localhost:3000${path}`, {
          method,
          headers: { "content-type": "application/json" },
          body: method === "POST" ? "{}" : null,
        }),
      );
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
      const expected = await ask("/mcp", method);
      const response = await ask("/mcp/", method);
      assert.equal(response.status, expected.status, method);
      assert.equal(await response.text(), await expected.text(), method);
    }
  }));

Deno.test("an address asked by the wrong method is 405, and Allow names the right ones", () =>
  withApp(async (app) => {
    for (
      const [method, path, allow] of [
        ["GET", "/token", "POST, OPTIONS"],
        ["GET", "/register", "POST, OPTIONS"],
        ["GET", "/revoke", "POST, OPTIONS"],
        ["DELETE", "/authorize", "GET, POST, OPTIONS"],
        ["POST", "/health", "GET, OPTIONS"],
      ]
    ) {
      const response = await app.fetch(
        new Request(`http://localhost:3000${path}`, { method }),
      );
      assert.equal(response.status, 405, path);
      assert.equal(response.headers.get("allow"), allow, path);
      assert.equal((await response.json()).error, "invalid_request");
    }
  }));

Deno.test("an address with parameters asked by the wrong method is 405 too, and one that is nowhere 404", async () => {
  await using server = await startServer({
    routes(app) {
      app.get("/things/:id", (c) => c.text("it"));
      app.put("/things/:id", (c) => c.text("put"));
      app.get("/files/*", (c) => c.text("file"));
    },
  });
  for (
    const [method, path, status, allow] of [
      ["DELETE", "/things/1", 405, "GET, PUT, OPTIONS"],
      ["POST", "/files/a/b", 405, "GET, OPTIONS"],
      [
        "POST",
        "/.well-known/oauth-protected-resource/mcp",
        405,
        "GET, OPTIONS",
      ],
      ["DELETE", "/things", 404, null],
      ["DELETE", "/things/1/2", 404, null],
    ] as const
  ) {
    const response = await server.fetch(path, { method });
    await response.body?.cancel();
    assert.equal(response.status, status, path);
    assert.equal(response.headers.get("allow"), allow, path);
  }
});

Deno.test("a server whose pages could not be loaded once loads them with the next request", async () => {
  let tries = 0;
  await using server = await startServer({
    routes() {
      if (++tries === 1) throw new Error("a file was away");
    },
  });
  assert.equal(await statusOf(server.fetch("/health")), 500);
  const { status, body } = await server.fetch("/health");
  await body?.cancel();
  assert.equal(status, 200);
  assert.equal(tries, 2);
});

Deno.test("GET /oauth/callback posts at our own and the listed origins, never at *", () =>
  withApp(async (app) => {
    const response = await get(app, "/oauth/callback?code=c1&state=s1");
    assert.equal(response.status, 200);
    const html = (await response.text()).replaceAll("&quot;", '"');
    assert.ok(html.includes(
      'data-message="{"type":"oauth_callback","code":"c1","state":"s1"}"',
    ));
    assert.ok(html.includes(
      'data-origins="["http://localhost:3000","https://app.example"]"',
    ));
  }, { ALLOWED_ORIGINS: "*,https://app.example" }));

Deno.test("GET /oauth/callback without an authorization response says so", () =>
  withApp(async (app) => {
    const response = await get(app, "/oauth/callback");
    assert.equal(response.status, 400);
    const html = await response.text();
    assert.match(html, /Start from the app/);
    assert.doesNotMatch(html, /<script/);
  }));
