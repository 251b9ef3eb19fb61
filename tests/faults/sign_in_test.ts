/**
 * Signing in, refreshing, revoking and the account page, with a fault at every
 * operation on the database. A client repeats a request that was answered with
 * 503, and signs in again when it is told that something was used.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { browserOf, Client } from "../flow/kit.ts";
import type { Arrival, Browser } from "../flow/browser.ts";
import { BASE_URL, type Json } from "../kit.ts";
import { FAULTS } from "./faulty_kv.ts";
import { type Line, testFaults } from "./kit.ts";

const greet = tool({ name: "greet", run: () => "hello" });

const OPTIONS = {
  tools: [greet],
  env: {
    BASE_URL,
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "github",
    OAUTH_CLIENT_ID: "our-client",
    OAUTH_CLIENT_SECRET: "our-secret",
  },
};

/** Takes a step, and repeats it after a 503. */
async function persistent<T extends { status: number }>(
  step: () => Promise<T>,
): Promise<T> {
  for (let tries = 0;; tries++) {
    const answer = await step();
    if (answer.status !== 503) return answer;
    assert(tries < 5, "503 for ever");
  }
}

async function read(response: Response | Promise<Response>) {
  const { status } = await response;
  const text = await (await response).text();
  return { status, text, body: (): Json => JSON.parse(text) };
}

async function register(line: Line): Promise<Client> {
  const { status, text, body } = await persistent(() =>
    read(line.fetch("/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: ["https://app.example.com/cb"] }),
    }))
  );
  assert.equal(status, 201, text);
  return new Client(line, body().client_id);
}

/** Walks to the code; undefined if a step says to begin again. */
async function authorize(
  line: Line,
  client: Client,
): Promise<string | undefined> {
  const browser = browserOf(line);
  const page = await persistent(() => browser.open(client.authorizationUrl()));
  assert.equal(page.status, 200, page.text);
  let arrival: Arrival = await browser.press(page, "decision", "approve");
  // A person loads a page with a 503 again.
  for (let tries = 0; arrival.status === 503; tries++) {
    assert(tries < 5, "503 for ever");
    arrival = arrival.url.endsWith("/authorize")
      ? await browser.press(page, "decision", "approve")
      : await browser.open(arrival.url);
  }
  if (arrival.url.startsWith(client.redirectUri)) {
    const { searchParams } = new URL(arrival.url);
    return searchParams.get("code") ?? undefined;
  }
  assert(arrival.status >= 400 && arrival.status < 500, arrival.text);
  return undefined;
}

/** Signs in, from the beginning if a process died after a step was used up. */
async function signIn(line: Line, client: Client): Promise<Json> {
  for (let tries = 0; tries < 3; tries++) {
    const code = await authorize(line, client);
    if (code !== undefined) {
      const { status, body } = await persistent(() => client.redeem(code));
      if (status === 200) {
        return { ...body, code };
      }
      assert.equal(body.error, "invalid_grant");
    }
    assert(line.hasDied, "a fault that ends no process costs no sign-in");
  }
  throw new Error("It is wedged");
}

async function call(client: Client, token: string) {
  return await persistent(() => read(client.call(token, "greet")));
}

testFaults("signing in", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token, refresh_token, code } = await signIn(line, client);
  assert.match((await call(client, access_token)).text, /hello/);
  const again = await persistent(() => client.redeem(code));
  assert.equal(again.status, 400);
  return async () => {
    const { status } = await persistent(() => client.refresh(refresh_token));
    assert.equal(status, 400, "a code used twice ends what it gave");
  };
});

async function refreshTwice(line: Line, client: Client): Promise<Json> {
  let tokens: Json = await signIn(line, client);
  for (let round = 0; round < 2; round++) {
    const { status, body } = await persistent(() =>
      client.refresh(tokens.refresh_token)
    );
    assert.equal(status, 200, JSON.stringify(body));
    tokens = body;
  }
  return tokens;
}

testFaults("refreshing", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token } = await refreshTwice(line, client);
  return async () =>
    assert.match((await call(client, access_token)).text, /hello/);
});

/** Replays by the kind of request; each must be answered by its own rule. */
const REPLAYS: Record<
  string,
  (line: Line, client: Client, token: string) => Promise<void>
> = {
  "replaying a refresh token": async (_, client, token) => {
    const { status } = await persistent(() => client.refresh(token));
    assert.equal(status, 400);
  },
  "revoking a refresh token that was used": async (line, client, token) => {
    const body = new URLSearchParams({ token, client_id: client.clientId });
    const { status } = await persistent(() =>
      read(line.fetch("/revoke", { method: "POST", body }))
    );
    assert.equal(status, 200);
  },
};

for (const [name, replay] of Object.entries(REPLAYS)) {
  testFaults(name, OPTIONS, async (line) => {
    const client = await register(line);
    const { refresh_token } = await signIn(line, client);
    let body: Json = { refresh_token };
    for (let round = 0; round < 2; round++) {
      const answer = await persistent(() => client.refresh(body.refresh_token));
      assert.equal(answer.status, 200);
      body = answer.body;
    }
    await replay(line, client, refresh_token);
    return async () => {
      const own = await persistent(() => client.refresh(body.refresh_token));
      assert.equal(own.status, 400);
      assert.equal((await call(client, body.access_token)).status, 401);
    };
  });
}

testFaults("refreshing at the provider too", OPTIONS, async (line) => {
  line.provider.ttlSeconds = 30;
  const client = await register(line);
  // The second refresh needs the provider's tokens of the first.
  await refreshTwice(line, client);
}, FAULTS.filter((fault) => !fault.startsWith("dies")));

testFaults("revoking", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token, refresh_token } = await signIn(line, client);
  const { status } = await persistent(() =>
    read(line.fetch("/revoke", {
      method: "POST",
      body: new URLSearchParams({
        token: refresh_token,
        client_id: client.clientId,
      }),
    }))
  );
  assert.equal(status, 200);
  return async () => {
    const { status } = await persistent(() => client.refresh(refresh_token));
    assert.equal(status, 400);
    assert.equal((await call(client, access_token)).status, 401);
  };
});

testFaults("revoking an access token", OPTIONS, async (line) => {
  const client = await register(line);
  const { refresh_token } = await signIn(line, client);
  const { body } = await persistent(() => client.refresh(refresh_token));
  const { status } = await persistent(() =>
    read(line.fetch("/revoke", {
      method: "POST",
      body: new URLSearchParams({
        token: body.access_token,
        client_id: client.clientId,
      }),
    }))
  );
  assert.equal(status, 200);
  return async () =>
    assert.equal((await call(client, body.access_token)).status, 401);
});

/** The form of a personal token. */
const TOKEN = /tsp_\w{58}/;

/** Cuts a page to one form. */
function formOf(page: Arrival, action: string): Arrival | undefined {
  const text = page.text.split("<form").find((part) => part.includes(action));
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
  let made = await browser.press(form, "", "", fields);
  // A person sends a form, or loads a page, with a 503 again.
  for (let tries = 0; made.status === 503; tries++) {
    assert(tries < 5, "503 for ever");
    made = made.url.endsWith("/tokens")
      ? await browser.press(form, "", "", fields)
      : await browser.open(made.url);
  }
  const tokenOf = ({ text }: Arrival) => TOKEN.exec(text)?.[0];
  const token = tokenOf(made)!;
  assert(token, "Who made a token sees it");
  const client = new Client(line, "");
  assert.match((await call(client, token)).text, /hello/);
  const again = await persistent(() => browser.open(made.url));
  assert.equal(tokenOf(again), token, "and sees it again");
}, FAULTS.filter((fault) => !fault.startsWith("dies")));

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
  let page = await browser.open(`${BASE_URL}/account`);
  for (let tries = 0; tries < 10; tries++) {
    const signIn = formOf(page, "/account/sign-in");
    if (page.status === 200 && !signIn && isDone(page)) return page;
    const form = formOf(page, action);
    if (signIn) page = await browser.press(signIn, "", "");
    else if (form) page = await browser.press(form, "", "", fields);
    else {
      assert.equal(page.status, 503, page.text);
      page = await browser.open(`${BASE_URL}/account`);
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
      line.tick(1);
      assert.equal((await call(client, access_token)).status, status);
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
