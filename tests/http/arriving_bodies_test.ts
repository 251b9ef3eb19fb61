/** Bodies that stall, over a real socket. */
import assert from "node:assert/strict";
import { BODY_SECONDS } from "../../src/http/arriving_bodies.ts";
import { createServer } from "../../src/server.ts";
import type { Server } from "../../src/server_options.ts";
import { startOAuthServer } from "../flow/kit.ts";
import { until } from "../kit.ts";
import { FakeTime } from "../store/fake_time.ts";

/** What a server says to half a body when its time is over. */
async function stall(
  { fetch }: Pick<Server, "fetch">,
  path: string,
  type: string,
  time: FakeTime,
): Promise<string> {
  let hasArrived = false;
  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => {
      const answering = fetch(request, info);
      hasArrived = true;
      return answering;
    },
  );
  try {
    const { hostname, port } = listener.addr;
    using connection = await Deno.connect({ hostname, port });
    await connection.write(
      new TextEncoder().encode(
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n` +
          `content-type: ${type}\r\ncontent-length: 100\r\n\r\n{`,
      ),
    );
    await until(() => hasArrived);
    time.tick(BODY_SECONDS);
    let answer = "";
    const reading = (async () => {
      const buffer = new Uint8Array(1024);
      while (!answer.includes("\r\n\r\n")) {
        const size = await connection.read(buffer);
        assert(size !== null, "it hung up");
        answer += new TextDecoder().decode(buffer.subarray(0, size));
      }
    })();
    await until(() => answer !== "");
    await reading;
    return answer;
  } finally {
    await listener.shutdown();
  }
}

Deno.test("a message that stalls is answered 408 after a minute", async () => {
  using time = new FakeTime();
  const kv = await Deno.openKv(":memory:");
  try {
    await using server = createServer({ name: "n", version: "1", kv });
    const text = await stall(server, "/mcp", "application/json", time);
    assert.match(text, /^HTTP\/1\.1 408 /);
    assert.match(text, /connection: close/i);
  } finally {
    kv.close();
  }
});

Deno.test("a form that stalls is answered 408 after a minute", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  const type = "application/x-www-form-urlencoded";
  const text = await stall(server.app, "/token", type, time);
  assert.match(text, /^HTTP\/1\.1 408 /);
  assert.match(text, /connection: close/i);
});
