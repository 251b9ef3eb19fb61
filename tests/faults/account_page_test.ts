/**
 * The account page, with a fault at every operation on the database.
 *
 * @module
 */
import assert from "node:assert/strict";
import { type Arrival, type Browser, browserOf } from "../kit/browser.ts";
import { Client } from "../kit/client.ts";
import { type Line, testFaults } from "../kit/faults.ts";
import { FAULTS } from "../kit/faulty_kv.ts";
import { BASE_URL } from "../kit/server.ts";
import { until } from "../kit/wait.ts";
import { call, OPTIONS, persistent, read, register, signIn } from "./walks.ts";

/** The form of a personal token. */
const TOKEN = /tsp_\w{58}/;

/** Cuts a page to one form. */
function formOf(page: Arrival, action: string): Arrival | undefined {
  const text = page.text.split("<form").find((part) =>
    part.includes(`action="${action}"`)
  );
  return text === undefined
    ? undefined
    : { ...page, text: `<form${text.split("</form>")[0]}` };
}

testFaults("seeing a new access token", OPTIONS, async (line) => {
  const browser = browserOf(line);
  const isThere = (page: Arrival) => formOf(page, "/account/tokens");
  const page = await onAccountPage(browser, "/account/tokens", isThere);
  const form = isThere(page)!;
  const fields = { name: "Backup", days: "30" };
  const send = () => browser.press(form, "", "", fields);
  // A person sends a form, or loads a page, with a 503 again.
  const made = await persistent(
    send,
    ({ url }) => url.endsWith("/tokens") ? send() : browser.open(url),
  );
  const tokenOf = ({ text }: Arrival) => TOKEN.exec(text)?.[0];
  const token = tokenOf(made)!;
  assert(token, "Who made a token sees it");
  const client = new Client(line, "");
  assert.match((await call(client, token)).text, /hello/);
  const again = await persistent(() => browser.open(made.url));
  assert.equal(tokenOf(again), token, "and sees it again");
}, FAULTS.filter((fault) => !fault.startsWith("dies")));

/** The part where a form is, if it is not the first. */
const PARTS: Record<string, string> = { "/account/tokens": "/tokens" };

/**
 * Fills in a form of the account page, and repeats that after a failure, until
 * the page is as it should be.
 */
async function onAccountPage(
  browser: Browser,
  action: string,
  isDone: (page: Arrival) => unknown,
  fields: Record<string, string> = {},
): Promise<Arrival> {
  const address = `${BASE_URL}/account${PARTS[action] ?? ""}`;
  let page = await browser.open(address);
  for (let tries = 0; tries < 20; tries++) {
    const signIn = formOf(page, "/account/sign-in");
    if (page.status === 200 && !signIn && isDone(page)) return page;
    const form = formOf(page, action);
    if (signIn) page = await browser.press(signIn, "", "");
    else if (form) page = await browser.press(form, "", "", fields);
    else {
      assert.equal(page.status, 503, page.text);
      page = await persistent(() => browser.open(address));
    }
  }
  throw new Error("It is wedged");
}

testFaults("ending a connection on the account page", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token } = await signIn(line, client);
  await onAccountPage(
    browserOf(line),
    "/account/end",
    (page) => !formOf(page, "/account/end"),
  );
  return async () =>
    assert.equal((await call(client, access_token)).status, 401);
});

testFaults("signing out of the account page", OPTIONS, async (line) => {
  const browser = browserOf(line);
  const isThere = (page: Arrival) => formOf(page, "/account/sign-out");
  const page = await onAccountPage(browser, "/account/sign-out", isThere);
  const cookies = new Map(browser.cookies);
  const { status } = await persistent(() =>
    browser.press(isThere(page)!, "", "")
  );
  // 403: signed out already, though that was answered with 503.
  assert([200, 403].includes(status), String(status));
  return async () => {
    // A browser that kept the cookie is signed out all the same.
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    const page = await persistent(() => browser.open(`${BASE_URL}/account`));
    assert(formOf(page, "/account/sign-in"), page.text);
  };
});

testFaults(
  "pausing a connection on the account page",
  OPTIONS,
  async (line) => {
    const client = await register(line);
    const { access_token } = await signIn(line, client);
    for (
      const [action, next, status] of [
        ["/account/pause", "/account/resume", 403],
        ["/account/resume", "/account/pause", 200],
      ] as const
    ) {
      await onAccountPage(
        browserOf(line),
        action,
        (page) => formOf(page, next),
      );
      // A process may remember the connection for a second.
      await until(async () =>
        (await call(client, access_token)).status === status
      );
    }
  },
);

/** Makes a token on the account page, whatever fails. */
async function makeToken(line: Line): Promise<string> {
  const page = await onAccountPage(
    browserOf(line),
    "/account/tokens",
    ({ text }) => TOKEN.test(text),
    { name: "Backup", days: "30" },
  );
  return TOKEN.exec(page.text)![0];
}

testFaults("making a token on the account page", OPTIONS, async (line) => {
  const token = await makeToken(line);
  return async () =>
    assert.match((await call(new Client(line, ""), token)).text, /hello/);
});

testFaults("ending a token that a person made", OPTIONS, async (line) => {
  const token = await makeToken(line);
  const { status } = await persistent(() =>
    read(line.fetch("/revoke", {
      method: "POST",
      body: new URLSearchParams({ token }),
    }))
  );
  assert.equal(status, 200);
  return async () =>
    assert.equal((await call(new Client(line, ""), token)).status, 401);
});

testFaults("erasing oneself on the account page", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token } = await signIn(line, client);
  const browser = browserOf(line);
  const address = `${BASE_URL}/account/data`;
  let page = await browser.open(address);
  // After any failure they sign in, and press it again.
  for (let tries = 0; !page.text.includes("Erased. You are"); tries++) {
    assert(tries < 200, page.text);
    const erase = formOf(page, "/account/erase");
    const form = erase ?? formOf(page, "/account/sign-in");
    page = form
      ? await browser.press(form, "", "", { erase: "on" })
      : await persistent(() => browser.open(address));
  }
  return async () =>
    assert.equal((await call(client, access_token)).status, 401);
});
