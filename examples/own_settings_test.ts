import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { testServer } from "@tool-server/tool-server/testing";
import { server as options } from "./own_settings.ts";

const env = { WEBHOOK_KEY: "0123456789abcdef" };

function sign(body: string, key: string): string {
  return createHmac("sha256", key).update(body).digest("hex");
}

Deno.test("a delivery arrives, if its sender knows the key", async () => {
  await using server = await testServer({ ...options, env });
  const deliver = async (signature: string) => {
    const headers = { "x-signature": signature };
    const init = { method: "POST", headers, body: "A parcel" };
    const response = await server.fetch("/webhook", init);
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await deliver("guessed"), 401);
  assert.equal(await deliver(sign("A parcel", "another key")), 401);
  assert.equal((await server.call("list_deliveries")).text, "Nothing yet.");
  assert.equal(await deliver(sign("A parcel", env.WEBHOOK_KEY)), 204);
  assert.equal((await server.call("list_deliveries")).text, "A parcel");
});

Deno.test("the server does not start without its key", async () => {
  await assert.rejects(testServer(options), /WEBHOOK_KEY: got nothing/);
});
