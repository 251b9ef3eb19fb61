/**
 * A person's account at a service of OAuth whose refresh tokens rotate, with a
 * fault at every operation on the database.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool } from "../../src/mod.ts";
import { REFRESH_LEASE_SECONDS } from "../../src/oauth/lifetimes.ts";
import { type Browser, browserOf } from "../kit/browser.ts";
import { testFaults } from "../kit/faults.ts";
import { SECRETS_KEY } from "../kit/key_service.ts";
import { BASE_URL } from "../kit/server.ts";
import { TokenService } from "../kit/token_service.ts";
import { call, OPTIONS, persistent, register, signIn } from "./walks.ts";

/** One for all walks: each has a grant of its own. */
const service = new TokenService();
// Shorter than the margin: every use refreshes.
service.lifetime = 30;
const crm = service.declare();

const options = {
  ...OPTIONS,
  tools: [
    tool({
      name: "greet",
      needs: { crm },
      run: async (_input, { needs }) =>
        `me: ${await (await needs.crm.fetch("/me")).text()}`,
    }),
  ],
  env: { ...OPTIONS.env, SECRETS_KEYS: SECRETS_KEY, ...service.environment },
};

/** Connects the account, however often that has to begin anew. */
async function connect(browser: Browser): Promise<void> {
  const address = `${BASE_URL}/connect/crm`;
  let page = await persistent(() => browser.open(address));
  for (let tries = 0; !page.text.includes("Connected as"); tries++) {
    assert(tries < 20, page.text);

    const isForm = page.text.includes("<form") && page.status === 200;
    page = isForm
      ? await browser.press(page, "answer", "connect")
      : await browser.open(address);
  }
}

testFaults(
  "connecting and refreshing an account by OAuth",
  options,
  async (line) => {
    const browser = browserOf(line, { issuers: [service.origin] });
    await connect(browser);
    const client = await register(line);
    const { access_token } = await signIn(line, client);
    let { text } = await persistent(() => call(client, access_token));
    for (let tries = 0; !text.includes("me: ada@acme"); tries++) {
      assert(tries < 5, text);
      if (text.includes(`${BASE_URL}/connect/crm`)) {
        // Only new tokens that died with their process are lost.
        assert(line.hasDied, text);
        await connect(browser);
      }
      // The lease of a process that has died ends.
      line.tick(REFRESH_LEASE_SECONDS);
      ({ text } = await persistent(() => call(client, access_token)));
    }
    assert.doesNotMatch(text, /crm-(access|refresh)/);
  },
  // The others are walked with a key.
  ["refuses", "forgets", "dies later"],
);
