import assert from "node:assert/strict";
import { tool } from "../../../../src/authoring/tool.ts";
import { NO_NETWORK } from "../../../../src/core/mcp/exchange/limits.ts";
import { unreadBudget } from "../../../../src/core/mcp/exchange/unread_answers.ts";
import { until } from "../../../kit/wait.ts";
import { BASE_URL, startServer } from "../../../kit/server.ts";

const MIB = 2 ** 20;

/** Starts a server with a long answer of a tool and of a route. */
async function start() {
  let runs = 0;
  const text = "x".repeat(4 * MIB);
  const server = await startServer({
    tools: [
      tool({
        name: "long",
        run() {
          runs++;
          return text;
        },
      }),
      tool({
        name: "later",
        async run() {
          await new Promise((resolve) => setTimeout(resolve, 1));
          return text;
        },
      }),
      tool({ name: "short", run: () => "short" }),
      tool({ name: "page", run: () => "x".repeat(15_000) }),
    ],
    routes(app) {
      app.get("/long", (c) => c.text(text));
      app.get("/later", async (c) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return c.text(text);
      });
    },
  });
  const call = (name: string) => server.call("tools/call", { name });
  return { server, call, runs: () => runs };
}

Deno.test("a caller who leaves 32 MiB of answers unread is refused, and its tools do not run, until some are read", async () => {
  const { server, call, runs } = await start();
  await using _server = server;
  const unread: Response[] = [];
  while (unreadBudget.hasRoom(NO_NETWORK)) {
    unread.push(await call("long"));
    assert.equal(unread.at(-1)!.status, 200);
  }
  assert.equal(unread.length, 8);
  for (const name of ["long", "short"]) {
    const { result } = await (await call(name)).json();
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /Too many unread long answers/);
  }
  assert.equal(runs(), 8);
  const page = await server.fetch("/long");
  assert.equal(page.status, 429);
  assert(Number(page.headers.get("retry-after")) > 0);
  await page.body?.cancel();
  assert.equal(JSON.parse(await unread[0].text()).result.isError, undefined);
  await unread[1].body!.cancel();
  assert.equal((await (await call("short")).json()).result.isError, undefined);
  for (const { body } of unread.slice(2)) await body!.cancel();
});

Deno.test("a caller who leaves thousands of answers of 15 kB unread is refused too", async () => {
  const { server, call } = await start();
  await using _server = server;
  const unread: Response[] = [];
  // 32 MiB are about 1,100 of them, give or take the chance.
  while (unreadBudget.hasRoom(NO_NETWORK) && unread.length < 2000) {
    unread.push(await call("page"));
  }
  assert(unread.length > 600 && unread.length < 2000, `${unread.length}`);
  const { result } = await (await call("short")).json();
  assert.match(result.content[0].text, /Too many unread long answers/);
  for (const { body } of unread) await body!.cancel();
  assert.equal((await (await call("short")).json()).result.isError, undefined);
});

Deno.test("HEAD, 304, a range and a compressed answer of a route arrive as they are, and none stays counted", async () => {
  const text = "x".repeat(100_000);
  const packed = await new Response(
    new Blob([text]).stream().pipeThrough(new CompressionStream("gzip")),
  ).bytes();
  await using server = await startServer({
    routes(app) {
      app.get("/whole", (c) => c.text(text));
      app.get("/same", (c) => c.body(null, 304, { etag: '"1"' }));
      app.get("/part", (c) =>
        c.body(text.slice(0, 50_000), 206, {
          "content-range": "bytes 0-49999/100000",
        }));
      app.get("/packed", (c) =>
        c.body(
          new Blob([packed]).stream(),
          200,
          { "content-encoding": "gzip" },
        ));
    },
  });
  const listener = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request, info) => server.app.fetch(request, info),
  );
  await using _listener = { [Symbol.asyncDispose]: () => listener.shutdown() };
  const at = `http://127.0.0.1:${listener.addr.port}`;
  const head = await fetch(`${at}/whole`, { method: "HEAD" });
  assert.equal(await head.text(), "");
  const same = await fetch(`${at}/same`);
  assert.deepEqual([same.status, same.headers.get("etag")], [304, '"1"']);
  await same.body?.cancel();
  const part = await fetch(`${at}/part`);
  assert.equal(part.status, 206);
  assert.equal(part.headers.get("content-range"), "bytes 0-49999/100000");
  assert.equal((await part.text()).length, 50_000);
  assert.equal(await (await fetch(`${at}/packed`)).text(), text);
  await until(() => unreadBudget.bytes === 0);
});

Deno.test("answers that come at once are no more than the bound, but for the last", async () => {
  const { server, call } = await start();
  await using _server = server;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call("later")),
  );
  const lengths = answers.map(({ headers }) =>
    Number(headers.get("content-length"))
  );
  assert.equal(lengths.filter((length) => length > MIB).length, 8);
  for (const { body } of answers) await body?.cancel();
  assert(unreadBudget.hasRoom(NO_NETWORK));
});

Deno.test("a route's answer counts until it is read", async () => {
  const { server } = await start();
  await using _server = server;
  const unread: Response[] = [];
  while (unreadBudget.hasRoom(NO_NETWORK)) {
    unread.push(await server.fetch("/long"));
  }
  assert.equal(unread.length, 8);
  for (const response of unread) {
    assert.equal((await response.text()).length, 4 * MIB);
  }
  assert(unreadBudget.hasRoom(NO_NETWORK));
});

Deno.test("a route's answers that come at once are no more than the bound", async () => {
  const { server } = await start();
  await using _server = server;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => server.fetch("/later")),
  );
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(
    [200, 503].map((one) => statuses.filter((is) => is === one).length),
    [8, 12],
  );
  for (const { body } of answers) await body?.cancel();
});

Deno.test("a process ends unread answers of routes instead of holding more of other networks", async () => {
  const { server } = await start();
  await using _server = server;
  const answers: Response[] = [];
  for (let number = 0; number < 40; number++) {
    const info = {
      remoteAddr: { transport: "tcp", hostname: `192.0.2.${number}`, port: 1 },
    } as const;
    const request = new Request(`${BASE_URL}/long`);
    answers.push(await server.app.fetch(request, info));
    assert(unreadBudget.bytes <= 68 * MIB, `${unreadBudget.bytes}`);
  }
  assert(answers.every(({ status }) => status === 200));
  const [first] = answers;
  await assert.rejects(first.text(), /stopped reading/);
  assert.equal((await answers.at(-1)!.text()).length, 4 * MIB);
  for (const { body } of answers.slice(1, -1)) {
    await body!.cancel().catch(() => {});
  }
  assert.equal(unreadBudget.bytes, 0);
});
