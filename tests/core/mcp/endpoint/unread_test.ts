import assert from "node:assert/strict";
import { tool } from "../../../../src/authoring/tool.ts";
import { longAnswers } from "../../../../src/core/mcp/exchange/long_messages.ts";
import { UNKNOWN } from "../../../../src/core/mcp/exchange/caller_bound.ts";
import { startServer } from "../../../kit/server.ts";

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
    ],
    routes(app) {
      app.get("/long", (c) => c.text(text));
    },
  });
  const call = (name: string) => server.call("tools/call", { name });
  return { server, call, runs: () => runs };
}

Deno.test("a caller who leaves 32 MiB of answers unread is refused, and its tools do not run, until some are read", async () => {
  const { server, call, runs } = await start();
  await using _server = server;
  const unread: Response[] = [];
  while (longAnswers.hasRoom(UNKNOWN)) {
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
  assert(longAnswers.hasRoom(UNKNOWN));
});

Deno.test("a route's answer counts until it is read", async () => {
  const { server } = await start();
  await using _server = server;
  const unread: Response[] = [];
  while (longAnswers.hasRoom(UNKNOWN)) unread.push(await server.fetch("/long"));
  assert.equal(unread.length, 8);
  for (const response of unread) {
    assert.equal((await response.text()).length, 4 * MIB);
  }
  assert(longAnswers.hasRoom(UNKNOWN));
});
