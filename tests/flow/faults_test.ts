import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { Client, startOAuthServer } from "./kit.ts";
import { switchableKv } from "./switchable_kv.ts";

const greet = tool({ name: "greet", run: () => "hello" });

Deno.test("a database that does not answer is a 503 at every step, and every step can be repeated", async () => {
  using database = await switchableKv();
  const { kv, state } = database;
  await using server = await startOAuthServer({ kv, tools: [greet] });
  /** Takes a step twice: while the database is down, and then for good. */
  const twice = async <T extends { status: number }>(
    step: () => Promise<T>,
  ): Promise<T> => {
    state.isUp = false;
    assert.equal((await step()).status, 503);
    state.isUp = true;
    return await step();
  };
  const read = async (response: Response | Promise<Response>) => {
    const { status, headers } = await response;
    return { status, headers, text: await (await response).text() };
  };

  const registered = await twice(
    () =>
      read(server.json("/register", {
        redirect_uris: ["https://app.example.com/cb"],
      })),
  );
  const client = new Client(server, JSON.parse(registered.text).client_id);
  const browser = server.browser();
  const consent = await twice(
    () => browser.open(client.authorizationUrl()),
  );
  const arrival = await twice(
    () => browser.press(consent, "decision", "approve"),
  );
  const code = client.codeFrom(arrival);
  const { body: tokens } = await twice(() => client.redeem(code));
  const { access_token, refresh_token } = tokens;
  const called = await twice(
    () => read(client.call(access_token, "greet")),
  );
  assert.match(called.text, /hello/);
  const { body: fresh } = await twice(
    () => client.refresh(refresh_token),
  );
  const revoked = await twice(
    () =>
      read(server.form("/revoke", {
        token: fresh.refresh_token,
        client_id: client.clientId,
      })),
  );
  assert.equal(revoked.status, 200);
  assert.equal((await client.refresh(fresh.refresh_token)).status, 400);
});
