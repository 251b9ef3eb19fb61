/**
 * Requests that a server reads, but does not answer, on a connection that was
 * used before.
 */
import assert from "node:assert/strict";
import {
  isSafeMethod,
  reuseConnections,
  sendOnce,
} from "../../../src/core/net/send_once.ts";
import { accountFetch } from "../../../src/core/provider/account_fetch.ts";

/**
 * Serves `/` on connections that stay open, and closes the connection on any
 * other request, which it has read. `read` has those, and `reused` is true for
 * one whose connection has served another before.
 */
function serveClosing() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const read: string[] = [];
  const reused: boolean[] = [];
  const open = new Set<Deno.Conn>();
  const serving = (async () => {
    const all: Promise<void>[] = [];
    for await (const connection of listener) all.push(serve(connection));
    await Promise.all(all);
  })();
  async function serve(connection: Deno.Conn) {
    open.add(connection);
    const buffer = new Uint8Array(10_000);
    let size: number | null;
    let served = 0;
    while ((size = await connection.read(buffer).catch(() => null)) !== null) {
      const text = new TextDecoder().decode(buffer.subarray(0, size));
      // The body may come after its head.
      if (!/^[A-Z]+ \//.test(text)) continue;
      if (!/^[A-Z]+ \/ /.test(text)) {
        read.push(text.split("\r\n")[0]);
        reused.push(served > 0);
        break;
      }
      served++;
      const answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
      await connection.write(new TextEncoder().encode(answer));
    }
    if (open.delete(connection)) connection.close();
  }
  return {
    api: `http://127.0.0.1:${listener.addr.port}`,
    read,
    reused,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      open.clear();
      await serving;
    },
  };
}

const parts = new FormData();
parts.append("name", "tea");

for (
  const [what, init] of [
    ["POST with a text", { method: "POST", body: "x" }],
    ["POST with a form", {
      method: "POST",
      body: new URLSearchParams({ grant_type: "refresh_token" }),
    }],
    ["PATCH with bytes", { method: "PATCH", body: new Uint8Array(9) }],
    ["POST with a form in parts", { method: "POST", body: parts }],
    ["DELETE without a body", { method: "DELETE" }],
    ["POST without a body", { method: "POST" }],
  ] satisfies [string, RequestInit][]
) {
  Deno.test(`a ${what} reaches a server once that closes the connection`, async () => {
    await using server = serveClosing();
    using reuse = new DisposableStack();
    reuse.defer(reuseConnections());
    const { api } = server;
    const service = { kind: "personalKey", name: "shop", api } as const;
    const account = accountFetch(service, () => Promise.resolve("k"));
    // It cannot be seen if the body of a whole request is a stream.
    const whole = () => sendOnce(new Request(`${api}/act`, init));
    for (
      const send of [
        () => sendOnce(`${api}/act`, init),
        whole,
        () => account("/act", init),
      ]
    ) {
      await (await fetch(api)).body?.cancel();
      await (await sendOnce(api, { method: "POST", body: "x" })).body?.cancel();
      server.read.length = server.reused.length = 0;
      await assert.rejects(send());
      assert.deepEqual(server.read, [`${init.method} /act HTTP/1.1`]);
      // Only a request without a body needs a connection of its own.
      assert.deepEqual(server.reused, ["body" in init && send !== whole]);
    }
  });
}

Deno.test("a body arrives as it is given, with its length and its type", async () => {
  const got: [string | null, string | null, string][] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const [length, type] = ["content-length", "content-type"]
        .map((name) => request.headers.get(name));
      got.push([length, type, await request.text()]);
      return new Response();
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const headers = { "content-type": "application/json" };
  for (
    const init of [
      { body: '{"a":"ü"}', headers },
      { body: "ü" },
      { body: new URLSearchParams({ a: "b c" }) },
      { body: new Uint8Array([65]) },
      { body: "" },
    ] satisfies RequestInit[]
  ) await (await sendOnce(url, { method: "POST", ...init })).text();
  assert.deepEqual(got, [
    ["10", "application/json", '{"a":"ü"}'],
    ["2", "text/plain;charset=UTF-8", "ü"],
    ["5", "application/x-www-form-urlencoded;charset=UTF-8", "a=b+c"],
    ["1", null, "A"],
    ["0", "text/plain;charset=UTF-8", ""],
  ]);
});

Deno.test("connections are reused until the last server has ended, and a client that is left is no leak", async () => {
  let connections = new Set<string>();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (_, { remoteAddr }) => {
      connections.add(JSON.stringify(remoteAddr));
      return new Response();
    },
  );
  const used = async () => {
    connections = new Set();
    const url = `http://127.0.0.1:${server.addr.port}`;
    for (let count = 0; count < 3; count++) {
      await (await sendOnce(url, { method: "POST", body: "x" })).text();
    }
    return connections.size;
  };
  assert.equal(await used(), 3);
  const ends = [reuseConnections(), reuseConnections()];
  assert.equal(await used(), 1);
  ends[0]();
  assert.equal(await used(), 1);
  ends[1]();
  assert.equal(await used(), 3);
});

Deno.test("an answer is read to its end after its connection's client is closed", async () => {
  const text = "x".repeat(5_000_000);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(text),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const response = await sendOnce(url, { method: "POST" });
  assert.equal(await response.text(), text);
});

Deno.test("GET, HEAD, OPTIONS and QUERY are safe, and no other method", () => {
  const methods = ["GET", "head", "OPTIONS", "QUERY", undefined];
  assert.deepEqual(methods.filter((it) => !isSafeMethod(it)), []);
  const others = ["POST", "PUT", "PATCH", "DELETE", "GETS"];
  assert.deepEqual(others.filter(isSafeMethod), []);
});
