/** HTTP/2 with a client that knows it beforehand, without TLS. */
import assert from "node:assert/strict";
import {
  type ClientHttp2Session,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { tool } from "../../src/authoring/tool.ts";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { initialize, type Json, rpc, statelessMeta } from "../kit/message.ts";
import { startServer } from "../kit/server.ts";
import { within } from "../kit/wait.ts";

type Headers = Record<string, string>;

/** Posts a message on a stream of its own, and reads the answer to its end. */
function post(
  session: ClientHttp2Session,
  message: Json,
  headers: Headers = {},
): Promise<{ headers: IncomingHttpHeaders; text: string }> {
  const stream = begin(session, message, headers);
  const { promise, resolve, reject } = Promise.withResolvers<
    { headers: IncomingHttpHeaders; text: string }
  >();
  let answered: IncomingHttpHeaders = {};
  let text = "";
  stream.setEncoding("utf8");
  stream.on("response", (headers) => answered = headers);
  stream.on("data", (part: string) => text += part);
  stream.on("end", () => resolve({ headers: answered, text }));
  stream.on("error", reject);
  return within(30, promise);
}

function begin(session: ClientHttp2Session, message: Json, headers: Headers) {
  const stream = session.request({
    ":method": "POST",
    ":path": "/mcp",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers,
  });
  stream.end(JSON.stringify(message));
  return stream;
}

Deno.test("streams of one connection are calls of their own, known by :authority, and a reset ends its call alone", async () => {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<unknown>();
  await using server = await startServer({
    tools: [
      tool({ name: "hello", run: () => "hello" }),
      tool({
        name: "hang",
        async run(_input, { signal, progress }) {
          signal.addEventListener("abort", () => stop(signal.reason));
          await progress(1);
          return await new Promise<string>(() => {});
        },
      }),
    ],
  });
  await using listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => server.app.fetch(request, info),
  );
  const session = connect(`http://127.0.0.1:${listener.addr.port}`);
  try {
    const opened = await post(session, initialize("2025-11-25", {}));
    assert.equal(opened.headers[":status"], 200, opened.text);
    const own = { "mcp-session-id": `${opened.headers["mcp-session-id"]}` };
    const hello = rpc("tools/call", { name: "hello", arguments: {} });
    const foreign = await post(session, hello, {
      ...own,
      ":authority": "evil.example",
    });
    assert.equal(foreign.headers[":status"], 403);

    const _meta = { ...statelessMeta(), progressToken: "p" };
    const call = rpc("tools/call", { name: "hang", arguments: {}, _meta });
    const hanging = begin(session, call, {
      "mcp-protocol-version": STATELESS_REVISION,
      "mcp-method": "tools/call",
      "mcp-name": "hang",
    });
    hanging.on("error", () => {});
    await within(30, new Promise((told) => hanging.once("data", told)));
    hanging.close(constants.NGHTTP2_CANCEL);
    assert.match(
      `${await within(30, stopped)}`,
      /the client closed the stream/,
    );

    const all = await Promise.all(
      Array.from({ length: 50 }, () => post(session, hello, own)),
    );
    for (const { text } of all) {
      assert.equal(JSON.parse(text).result.content[0].text, "hello");
    }
  } finally {
    await new Promise<void>((closed) => session.close(closed));
  }
});
