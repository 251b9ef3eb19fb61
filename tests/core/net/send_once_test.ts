/**
 * Requests that a server reads, but does not answer, on a connection that was
 * used before.
 */
import assert from "node:assert/strict";
import { isSafeMethod, sendOnce } from "../../../src/core/net/send_once.ts";
import { accountFetch } from "../../../src/core/provider/account_fetch.ts";

/**
 * Serves `GET /` on connections that stay open, and closes the connection on
 * any other request, which it has read.
 */
function serveClosing() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const read: string[] = [];
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
    while ((size = await connection.read(buffer).catch(() => null)) !== null) {
      const text = new TextDecoder().decode(buffer.subarray(0, size));
      if (!text.startsWith("GET / ")) {
        read.push(text.split("\r\n")[0]);
        break;
      }
      const answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
      await connection.write(new TextEncoder().encode(answer));
    }
    if (open.delete(connection)) connection.close();
  }
  return {
    api: `http://127.0.0.1:${listener.addr.port}`,
    read,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      open.clear();
      await serving;
    },
  };
}

for (
  const [what, init] of [
    ["POST with a text", { method: "POST", body: "x" }],
    ["POST with a form", {
      method: "POST",
      body: new URLSearchParams({ grant_type: "refresh_token" }),
    }],
    ["PATCH with bytes", { method: "PATCH", body: new Uint8Array(9) }],
    ["DELETE without a body", { method: "DELETE" }],
    ["POST without a body", { method: "POST" }],
  ] satisfies [string, RequestInit][]
) {
  Deno.test(`a ${what} reaches a server once that closes the connection`, async () => {
    await using server = serveClosing();
    const { api } = server;
    const service = { kind: "personalKey", name: "shop", api } as const;
    const account = accountFetch(service, () => Promise.resolve("k"));
    for (
      const send of [
        () => sendOnce(`${api}/act`, init),
        () => sendOnce(new Request(`${api}/act`, init)),
        () => account("/act", init),
      ]
    ) {
      await (await fetch(api)).body?.cancel();
      server.read.length = 0;
      await assert.rejects(send());
      assert.deepEqual(server.read, [`${init.method} /act HTTP/1.1`]);
    }
  });
}

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
