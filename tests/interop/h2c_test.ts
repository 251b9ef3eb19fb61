import assert from "node:assert/strict";

/** The first request of Java's `HttpClient` over plain http. */
const REQUEST = [
  "POST /mcp HTTP/1.1",
  "Connection: Upgrade, HTTP2-Settings",
  "Content-Length: 2",
  "Content-Type: application/json",
  "Host: 127.0.0.1",
  "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
  "Upgrade: h2c",
  "",
  "{}",
].join("\r\n");

/** If this fails: remove it, the doctor's check, and the line in deploy.md. */
Deno.test("Deno answers 400 to Upgrade: h2c before a handler sees it", async () => {
  let seen = 0;
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => {
      seen++;
      return new Response();
    },
  );
  using connection = await Deno.connect({
    hostname: "127.0.0.1",
    port: server.addr.port,
  });
  await connection.write(new TextEncoder().encode(REQUEST));
  const head = new Uint8Array(1024);
  const length = await connection.read(head);
  const answer = new TextDecoder().decode(head.subarray(0, length!));
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.equal(seen, 0);
});
