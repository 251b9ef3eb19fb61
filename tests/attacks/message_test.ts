/** Messages that are too large, too deep, too many, or malformed. */
import assert from "node:assert/strict";
import { Events } from "../kit/answer.ts";
import { rpc, statelessMeta } from "../kit/message.ts";
import { RemoteServer, startServer } from "../kit/server.ts";
import { until, within } from "../kit/wait.ts";
import {
  type Answer,
  attacks,
  each,
  listen,
  rpcRefusal,
  type Target,
} from "../kit/target.ts";
import { tool } from "../../src/authoring/tool.ts";
import * as z from "zod";

const flood = tool({
  name: "flood",
  async run(_, { progress }) {
    for (let n = 1; n <= 10_000; n++) await progress(n, undefined, PADDING);
    return "done";
  },
});
const PADDING = "x".repeat(1000);

const sum = tool({
  name: "sum",
  input: z.object({ numbers: z.array(z.int()).max(100) }),
  run: ({ numbers }) => String(numbers.length),
});

const pick = tool({
  name: "pick",
  input: z.object({ items: z.array(z.union([z.int(), z.boolean()])) }),
  run: ({ items }) => String(items.length),
});

const echo = tool({
  name: "echo",
  input: z.object({ text: z.string().meta({ "x-mcp-header": "Text" }) }),
  run: ({ text }) => text,
});

const wait = tool({
  name: "wait",
  run: (_, { signal }) =>
    new Promise<string>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    ),
});

const crash = tool({
  name: "crash",
  run() {
    throw new Error("secret of the tool");
  },
});

const open = async () =>
  listen(await startServer({ tools: [flood, sum, pick, echo, wait, crash] }));

/** Makes one tools/call of 2026 with additional headers. */
function call(
  target: Target,
  name: string,
  args: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return target.call("tools/call", { name, arguments: args }, headers);
}

attacks("a body is refused for what it is", {
  "that announces more than it sends": async (target) => {
    const { hostname, port } = new URL(target.url);
    const socket = await Deno.connect({ hostname, port: Number(port) });
    await socket.write(
      new TextEncoder().encode(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
          "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
      ),
    );
    socket.close();
    const answer = await target.json("/mcp", rpc("ping"));
    assert.equal(answer.status, 400);
  },
  "with two lengths": async (target) => {
    const { status } = await target.raw([
      "POST /mcp HTTP/1.1",
      "Host: 127.0.0.1",
      "Content-Type: application/json",
      "Content-Length: 2",
      "Content-Length: 30",
      "Connection: close",
    ], "{}GET /health HTTP/1.1\r\n\r\n");
    assert.equal(status, 400);
  },
  "with a length and chunks, which a proxy may read another way": async (
    target,
  ) => {
    const { text } = await target.raw([
      "POST /mcp HTTP/1.1",
      "Host: 127.0.0.1",
      "Content-Type: application/json",
      "Content-Length: 5",
      "Transfer-Encoding: chunked",
      "Connection: close",
    ], "0\r\n\r\nGET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert.doesNotMatch(text, /"status":"ok"/);
  },
}, open);

attacks("what a message holds is bounded, and so is the refusal", {
  "ten thousand items that no option takes": async (target) => {
    const items = Array(9000).fill("x");
    const answer = await call(target, "pick", { items });
    // The rest was not counted.
    assert.match(
      answer.text,
      /- items\.9: expected number, received string; or expected boolean, received string\\n- and more"/,
    );
  },
  "a tool's name of 1 MB": async (target) => {
    const name = "x".repeat(1e6);
    const body = rpc("tools/call", { name, _meta: statelessMeta() });
    const answer = await target.json("/mcp", body, {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "x",
    });
    assert.equal(answer.status, 400);
    assert(answer.text.length < 4096);
  },
  "a prototype": async (target) => {
    const answer = await target.json(
      "/mcp",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","__proto__":{"x":1},' +
        '"params":{"name":"sum","arguments":{"__proto__":{"numbers":[1]}},' +
        `"_meta":${JSON.stringify(statelessMeta())}}}`,
      {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "sum",
      },
    );
    assert.doesNotMatch(answer.text, /"text":"1"/);
    assert.equal(({} as Record<string, unknown>).x, undefined);
  },
  "names that every object has": async (target) => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      assert.equal(rpcRefusal(await call(target, name, {})), "200 -32602");
      const answer = await target.call(name);
      assert.equal(rpcRefusal(answer), "404 -32601", name);
    }
  },
  "a batch within a batch": async (target) => {
    const session = await target.session({}, "2025-03-26");
    const headers = { "mcp-session-id": session };
    const { text } = await target.json("/mcp", [[rpc("ping")]], headers);
    assert.match(text, /-32600/);
  },
}, open);

/** Headers that a proxy uses for routing, and that differ from the body. */
const DISAGREEING: Record<string, Record<string, string>> = {
  "no method": { "mcp-method": "" },
  "two tools": { "mcp-name": "echo, crash" },
  "another revision": { "mcp-protocol-version": "2025-11-25" },
  "a revision of no one": { "mcp-protocol-version": "9999-01-01" },
  "another argument": { "mcp-param-text": "b" },
  "no base64": { "mcp-param-text": "=?base64?%%%?=" },
  "base64 without its end": { "mcp-param-text": "=?base64?YQ?=" },
  "base64 of no UTF-8": { "mcp-param-text": `=?base64?${btoa("\xff")}?=` },
  "base64 within base64": {
    "mcp-param-text": `=?base64?${btoa("=?base64?YQ==?=")}?=`,
  },
};

attacks("headers that a proxy routes by agree with the body", {
  ...each(Object.keys(DISAGREEING), async (target, name) => {
    const headers = { "mcp-param-text": "a", ...DISAGREEING[name] };
    const answer = await call(target, "echo", { text: "a" }, headers);
    assert.equal(rpcRefusal(answer), "400 -32020");
  }),
  "bytes beyond ASCII": async (target) => {
    const body = JSON.stringify(rpc("tools/call", {
      name: "echo",
      arguments: { text: "ü" },
      _meta: statelessMeta(),
    }));
    const answer = await target.raw([
      "POST /mcp HTTP/1.1",
      "Host: 127.0.0.1",
      "Content-Type: application/json",
      "Mcp-Protocol-Version: 2026-07-28",
      "Mcp-Method: tools/call",
      "Mcp-Name: echo",
      "Mcp-Param-Text: ü",
      `Content-Length: ${new TextEncoder().encode(body).length}`,
      "Connection: close",
    ], body);
    assert.equal(answer.status, 400);
  },
  "and the right ones pass": async (target) => {
    const answer = await call(target, "echo", { text: "ü" }, {
      "mcp-param-text": "=?base64?w7w=?=",
    });
    assert.match(answer.text, /"text":"ü"/);
  },
}, open);

attacks("a stream that is abused ends", {
  "by a 2026 client that hangs up": async (target) => {
    const leaving = new AbortController();
    const asked = new RemoteServer(target.url)
      .call("tools/call", { name: "wait" }, { signal: leaving.signal })
      .catch(() => undefined);
    await until(() => target.server.app.running === 1);
    leaving.abort();
    await asked;
    await until(() => target.server.app.running === 0);
  },
  "by a reader that reads nothing: others are served": async (target) => {
    const response = await new RemoteServer(target.url)
      .call("tools/call", { name: "flood" }, {
        meta: { progressToken: "x".repeat(1000) },
      });
    const answer = await within(
      20,
      call(target, "echo", { text: "a" }, { "mcp-param-text": "a" }),
    );
    assert.match(answer.text, /"text":"a"/);
    const events = new Events(response);
    await events.read();
    await events.close();
    await until(() => target.server.app.running === 0);
  },
}, open);
