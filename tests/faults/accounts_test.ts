/**
 * A person's account at another service, with a fault at every operation on the
 * database.
 *
 * @module
 */
import assert from "node:assert/strict";
import { personalKey, tool } from "../../src/mod.ts";
import { browserOf } from "../kit/browser.ts";
import { testFaults } from "../kit/faults.ts";
import { SECRETS_KEY, spelled } from "../kit/key_service.ts";
import { BASE_URL } from "../kit/server.ts";
import { call, OPTIONS, persistent, register, signIn } from "./walks.ts";

const linear = personalKey("linear", { api: "https://linear.example" });

const options = {
  ...OPTIONS,
  tools: [
    tool({
      name: "greet",
      needs: { linear },
      run: async (_input, { needs }) => spelled(await needs.linear.reveal()),
    }),
  ],
  env: { ...OPTIONS.env, SECRETS_KEYS: SECRETS_KEY },
};

testFaults("connecting and disconnecting an account", options, async (line) => {
  const browser = browserOf(line);
  const address = `${BASE_URL}/connect/linear`;
  const isDone = (text: string) => text.includes("Connected. ");
  let page = await persistent(() => browser.open(address));
  for (let tries = 0; !isDone(page.text); tries++) {
    assert(tries < 15, page.text);
    const isForm = page.text.includes("<form") && page.status === 200;
    page = isForm
      ? await browser.press(page, "answer", "connect", { key: "the-key" })
      : await persistent(() => browser.open(address));
  }
  const client = await register(line);
  const { access_token } = await signIn(line, client);
  const { text } = await persistent(() => call(client, access_token));
  assert(text.includes(spelled("the-key")), text);
  const list = `${BASE_URL}/account/accounts`;
  let own = await persistent(() => browser.open(list));
  for (let tries = 0; own.text.includes("/disconnect"); tries++) {
    assert(tries < 15, own.text);
    const form = own.text.split("<form").find((part) =>
      part.includes('action="/account/accounts/disconnect"')
    )!;
    const pressed = { ...own, text: `<form${form.split("</form>")[0]}` };
    await browser.press(pressed, "", "");
    own = await persistent(() => browser.open(list));
  }
  return async () => {
    const last = await persistent(() => browser.open(list));
    assert(!last.text.includes("/disconnect"), last.text);
  };
});
