/**
 * A person's account at a service of OAuth whose refresh tokens rotate, with a
 * fault at every operation on the database.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool } from "../../src/mod.ts";
import { REFRESH_LEASE_SECONDS } from "../../src/core/oauth/lifetimes.ts";
import { type Browser, browserOf } from "../kit/browser.ts";
import { formOf } from "../kit/account_visitor.ts";
import { testFaults } from "../kit/faults.ts";
import { SECRETS_KEY } from "../kit/key_service.ts";
import { BASE_URL } from "../kit/server.ts";
import { TokenService } from "../kit/token_service.ts";
import { until } from "../kit/wait.ts";
import { call, OPTIONS, persistent, register, signIn } from "./walks.ts";

/** One for all walks: each has a grant of its own. */
const service = new TokenService();
// Shorter than the margin: every use refreshes.
service.lifetime = 1;
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
  env: {
    ...OPTIONS.env,
    SECRETS_KEYS: SECRETS_KEY,
    OAUTH_ACCESS_TOKEN_MINUTES: "1440",
    ...service.environment,
  },
};

/**
 * Connects an account, however often that has to begin anew. Returns the codes
 * of the service, the last one of which is that of the account.
 */
async function connect(browser: Browser, name = "crm"): Promise<string[]> {
  const address = `${BASE_URL}/connect/${name}`;
  const codes: string[] = [];
  let page = await persistent(() => browser.open(address));
  for (let tries = 0; !page.text.includes("Connected as"); tries++) {
    assert(tries < 20, page.text);
    const code = new URL(page.url).searchParams.get("code");
    if (code !== null) codes.push(code);
    const isForm = page.text.includes("<form") && page.status === 200;
    page = isForm
      ? await browser.press(page, "answer", "connect")
      : await browser.open(address);
  }
  return codes;
}

testFaults(
  "connecting and refreshing an account by OAuth",
  options,
  async (line) => {
    const browser = browserOf(line, { issuers: [service.origin] });
    await connect(browser);
    const client = await register(line);
    const { access_token } = await signIn(line, client);
    let text = "";
    let asked = 0;
    let isForgotten = false;
    await until(async () => {
      ({ text } = await persistent(() => call(client, access_token)));
      if (text.includes("me: ada@acme")) return true;
      if (text.includes(`${BASE_URL}/connect/crm`)) {
        // Only new tokens that died with their process are lost.
        assert(line.hasDied && asked++ < 2, text);
        await connect(browser);
      } else if (!isForgotten) {
        // The lease of a process that has died is forgotten.
        line.tick(REFRESH_LEASE_SECONDS + 3600);
        isForgotten = true;
      }
      return false;
    });
    assert.doesNotMatch(text, /crm-(access|refresh)/);
  },
  // The others are walked with a key.
  ["refuses", "forgets", "dies later"],
);

/** Each grant is of another account. */
const others = new TokenService("others");
let count = 0;
Object.defineProperty(others, "account", { get: () => `account ${++count}` });

testFaults(
  "replacing and disconnecting an account by OAuth",
  {
    ...options,
    tools: [
      tool({ name: "greet", needs: { crm: others.declare() }, run: () => "" }),
    ],
    env: { ...options.env, ...others.environment },
  },
  async (line) => {
    const browser = browserOf(line, { issuers: [others.origin] });
    const codes = [
      ...await connect(browser, "others"),
      ...await connect(browser, "others"),
    ];
    const address = `${BASE_URL}/account/accounts`;
    let page = await persistent(() => browser.open(address));
    while (page.text.includes("accounts/disconnect")) {
      const form = formOf(page, "/account/accounts/disconnect");
      await browser.press(form, "", "");
      page = await persistent(() => browser.open(address));
    }
    // Only new tokens that died with their process are lost.
    const kept = line.hasDied ? codes.slice(-1) : codes;
    await until(async () => {
      const isDone = others.grants.every(({ code, isEnded }) =>
        isEnded || !kept.includes(code)
      );
      if (isDone) return true;
      line.tick(3600);
      await line.wake();
      return false;
    });
  },
  ["refuses", "forgets", "dies later"],
);
