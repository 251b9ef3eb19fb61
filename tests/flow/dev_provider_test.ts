import assert from "node:assert/strict";
import { Client } from "../kit/client.ts";
import { browserOf } from "../kit/browser.ts";
import { Processes } from "../kit/processes.ts";

Deno.test("the development provider signs in anyone who types a name, on two processes that take turns", async () => {
  await using processes = new Processes({
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
  });
  await Promise.all([processes.start(), processes.start()]);
  const server = {
    async fetch(path: string, init?: RequestInit) {
      processes.next();
      return await processes.fetch(path, init);
    },
  };
  const client = await Client.register(server);
  const browser = browserOf(server);
  const consent = await browser.open(client.authorizationUrl());
  const signIn = await browser.press(consent, "decision", "approve");
  assert.match(signIn.text, /name="name"/);
  const arrival = await browser.press(signIn, "name", "Ada Lovelace");
  const { status, body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(status, 200);
  const called = await client.call(body.access_token, "whoami");
  assert.match(await called.text(), /Ada Lovelace/);
});
