/**
 * A call of a tool that needs accounts of its person at two services.
 *
 * @module
 */
import assert from "node:assert/strict";
import { personalKey } from "../../src/authoring/personal_key.ts";
import { tool } from "../../src/authoring/tool.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { textOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { SECRETS_KEY, spelled } from "../kit/key_service.ts";
import { BASE_URL } from "../kit/server.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { signIn } from "./walk.ts";

const api = "https://service.example";
const needs = {
  one: personalKey("one", { api }),
  two: personalKey("two", { api }),
};

const KEYS = spelled("key-one key-two");

const reveal = tool({
  name: "reveal",
  needs,
  run: async (_input, { needs: { one, two } }) =>
    spelled(`${await one.reveal()} ${await two.reveal()}`),
});

export async function walkAccounts(surroundings: Surroundings): Promise<void> {
  await using processes = new Processes("oauth", surroundings, {
    tools: [reveal],
    environment: { SECRETS_KEYS: SECRETS_KEY },
  });
  const client = await Client.register(processes.as("register"));
  const { access_token } = await signIn(processes, client);
  const { provider } = processes;
  const { fetch } = processes.as("connect");
  const visitor = await AccountVisitor.signIn({ fetch, provider });
  // Else the reads of these pages might be a second old on a busy machine.
  using time = new FakeTime();
  for (const name of Object.keys(needs)) {
    const address = `${BASE_URL}/connect/${name}`;
    visitor.page = await visitor.browser.open(address);
    const fields = { answer: "connect", key: `key-${name}` };
    await visitor.press(`/connect/${name}`, fields);
  }
  async function call(step: string, secondsLater: number): Promise<string> {
    time.tick(secondsLater);
    client.server = processes.as(step);
    return await textOf(client.call(access_token, "reveal"));
  }
  assert.equal(await call("first call", 0.01), KEYS);
  assert.equal(await call("next call", 0.99), KEYS);
  assert.equal(await call("a second later", 0.01), KEYS);
  // Read at the same time, so they are old at the same time.
  assert.equal(await call("another second later", 1), KEYS);
  assert.equal(await call("before its second is over", 0.9), KEYS);
  const elsewhere = await processes.start();
  const other = await AccountVisitor.signIn(
    { fetch: (path, init) => elsewhere.fetch(path, init), provider },
    { at: "/accounts" },
  );
  await other.press("/account/accounts/disconnect");
  assert.match(
    await call("after a disconnect elsewhere", 0.1),
    /Connect your account/,
  );
}
