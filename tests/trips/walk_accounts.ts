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
import { SECRETS_KEY } from "../kit/key_service.ts";
import { BASE_URL } from "../kit/server.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { signIn } from "./walk.ts";

const api = "https://service.example";
const needs = {
  one: personalKey("one", { api }),
  two: personalKey("two", { api }),
};

const reveal = tool({
  name: "reveal",
  needs,
  run: async (_input, { needs: { one, two } }) =>
    `${await one.reveal()} ${await two.reveal()}`,
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
  for (const name of Object.keys(needs)) {
    const address = `${BASE_URL}/connect/${name}`;
    visitor.page = await visitor.browser.open(address);
    const fields = { answer: "connect", key: `key-${name}` };
    await visitor.press(`/connect/${name}`, fields);
  }
  for (const step of ["first call", "next call"]) {
    client.server = processes.as(step);
    const text = await textOf(client.call(access_token, "reveal"));
    assert.equal(text, "key-one key-two");
  }
}
