/** Consent that a person did not give, and an account that is not theirs. */
import assert from "node:assert/strict";
import { AUTHORIZATION_REQUEST_TTL_SECONDS } from "../../src/core/oauth/lifetimes.ts";
import { ACCOUNT_SESSION_SECONDS } from "../../src/features/account_page/account_sessions.ts";
import type { Browser } from "../kit/browser.ts";
import { formOf } from "../kit/account_visitor.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { attacks, startTarget, type Target } from "../kit/target.ts";
import { BASE_URL } from "../kit/server.ts";

/** Opens the consent page in a browser. */
async function consenting(target: Target) {
  const client = await target.register();
  const browser = target.browser();
  const page = await browser.open(client.authorizationUrl());
  assert.equal(page.status, 200, page.text);
  const handle = /name="request" value="([^"]+)"/.exec(page.text)![1];
  return { client, browser, page, handle };
}

function cookiesOf(browser: Browser): string {
  return [...browser.cookies].map(([key, value]) =>
    `${key.split(" ")[1]}=${value}`
  ).join("; ");
}

attacks("consent cannot be given for someone", {
  "by GET": async (target) => {
    const { browser, handle } = await consenting(target);
    const query = `request=${handle}&decision=approve`;
    const answer = await target.ask(`/authorize?${query}`, {
      headers: { cookie: cookiesOf(browser) },
    });
    assert.equal(answer.status, 400);
  },
  "by a page that frames it": async (target) => {
    const { page } = await consenting(target);
    const policy = page.headers.get("content-security-policy")!;
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /default-src 'none'/);
  },
  "after ten minutes": async (target) => {
    using time = new FakeTime();
    const { browser, page } = await consenting(target);
    time.tick(AUTHORIZATION_REQUEST_TTL_SECONDS);
    const late = await browser.press(page, "decision", "approve");
    assert.equal(late.status, 400);
  },
  "by having been asked before: it is asked every time": async (target) => {
    const { client, browser, page } = await consenting(target);
    client.codeFrom(await browser.press(page, "decision", "approve"));
    const log = target.provider.log.length;
    const again = await browser.open(client.authorizationUrl());
    assert.match(again.text, /name="decision"/);
    assert.equal(target.provider.log.length, log);
  },
  "by prompt=none": async (target) => {
    const { client, browser } = await consenting(target);
    const page = await browser.open(
      client.authorizationUrl({ prompt: "none" }),
    );
    assert.equal(page.status, 400);
    assert.match(page.text, /asks to go on without you/);
  },
  "by a form of another site that has its handle": async (target) => {
    const { browser, page, handle } = await consenting(target);
    for (
      const headers of [
        { "sec-fetch-site": "cross-site", origin: "null" },
        { "sec-fetch-site": "same-site" },
        { origin: "https://evil.example" },
        { origin: "null" },
      ] as Record<string, string>[]
    ) {
      const answer = await target.ask("/authorize", {
        method: "POST",
        headers: { ...headers, cookie: cookiesOf(browser) },
        body: new URLSearchParams({ request: handle, decision: "deny" }),
      });
      assert.equal(answer.status, 403, JSON.stringify(headers));
    }
    const { url } = await browser.press(page, "decision", "approve");
    assert.match(url, /[?&]code=/);
  },
  "through a cookie from a neighbouring site": async () => {
    await using target = await startTarget({
      baseUrl: "https://tools.example.com",
    });
    const client = await target.register();
    const { search } = new URL(client.authorizationUrl({ resource: "" }));
    const { headers } = await target.ask(`/authorize${search}`, {
      headers: { cookie: `browser=${"a".repeat(43)}` },
    });
    const [cookie] = headers.getSetCookie();
    assert.match(cookie, /^__Host-browser=/);
    assert.match(cookie, /Secure/);
    assert.doesNotMatch(cookie, /a{43}/);
  },
});

/** Stops a browser on its way back from the provider, and gives the address. */
async function caughtOnReturn(
  target: Target,
  walk: () => Promise<unknown>,
): Promise<string> {
  let back = "";
  const fetched = target.fetch.bind(target);
  target.fetch = (path, init) => {
    if (!path.startsWith("/oauth/provider-callback")) {
      return fetched(path, init);
    }
    back = path;
    return Promise.resolve(new Response("caught"));
  };
  try {
    await walk();
  } finally {
    target.fetch = fetched;
  }
  return back;
}

/** Approves, and stops on the way back from the provider. */
async function returning(target: Target) {
  const started = await consenting(target);
  const { browser, page } = started;
  const back = await caughtOnReturn(
    target,
    () => browser.press(page, "decision", "approve"),
  );
  return { ...started, back };
}

attacks("a sign-in is finished by the browser that began it", {
  "not with another's code of the provider": async (target) => {
    const [mine, theirs] = [await returning(target), await returning(target)];
    const swapped = new URL(mine.back, BASE_URL);
    const { searchParams } = new URL(theirs.back, BASE_URL);
    swapped.searchParams.set("code", searchParams.get("code")!);
    // The verifier is derived from the cookie, so the provider's PKCE does not
    // match.
    const answer = await target.ask(swapped.pathname + swapped.search, {
      headers: { cookie: cookiesOf(mine.browser) },
    });
    assert.doesNotMatch(answer.headers.get("location") ?? "", /[?&]code=/);
  },
  "not with a state that no one gave out": async (target) => {
    const { browser } = await returning(target);
    for (const state of ["", "x", "account.x", "__proto__"]) {
      const path = `/oauth/provider-callback?code=x&state=${state}`;
      const answer = await target.ask(path, {
        headers: { cookie: cookiesOf(browser) },
      });
      assert.equal(answer.status, 400, state);
    }
  },
  "not twice at once": async (target) => {
    const { back, browser } = await returning(target);
    const headers = { cookie: cookiesOf(browser) };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => target.ask(back, { headers })),
    );
    const won = answers.filter(({ headers }) =>
      headers.get("location")?.includes("code=")
    );
    assert.equal(won.length, 1);
  },
});

const ACCOUNT = `${BASE_URL}/account`;

async function accountOf(target: Target, subject: string) {
  target.provider.subject = subject;
  target.provider.email = `${subject}@example.com`;
  const browser = target.browser();
  const page = await browser.open(ACCOUNT);
  const account = await browser.press(formOf(page, "/account/sign-in"), "", "");
  const csrf = /name="csrf" value="([^"]+)"/.exec(account.text)?.[1] ?? "";
  return { browser, account, csrf, cookie: cookiesOf(browser) };
}

type Account = Awaited<ReturnType<typeof accountOf>>;

/** Finds the grant's id on its owner's page. */
function grantOf({ account }: Account): string {
  return /name="grants" value="([^"]+)"/.exec(account.text)![1];
}

/** Asks to end the owner's connection, with changes by the thief. */
function askToEnd(
  target: Target,
  owner: Account,
  forged: { csrf?: string; cookie?: string } = {},
) {
  const { csrf, cookie } = { ...owner, ...forged };
  const form = { grants: grantOf(owner), csrf };
  return target.form("/account/end", form, { cookie });
}

/** Opens two people's account pages, with a client of the first. */
async function ownerAndThief(target: Target) {
  const { auth } = await target.person("jo");
  const owner = await accountOf(target, "jo");
  const thief = await accountOf(target, "thief");
  return { auth, owner, thief };
}

async function isAlive(target: Target, auth: { authorization: string }) {
  const answer = await target.call("tools/call", { name: "whoami" }, auth);
  return answer.status === 200;
}

attacks("an account page obeys its own person only", {
  "not a form of another site, another session or another person": async (
    target,
  ) => {
    using time = new FakeTime();
    const { auth, owner, thief } = await ownerAndThief(target);
    const cut = owner.csrf.slice(0, -1);
    for (const csrf of ["", "x", "x.y", cut, thief.csrf]) {
      const answer = await askToEnd(target, owner, { csrf });
      assert.equal(answer.status, 403, csrf);
    }
    // Treated as if it did not exist: nothing was ended.
    const theirs = await askToEnd(target, owner, thief);
    assert.match(theirs.headers.get("location")!, /\?notice=/);
    time.tick(1);
    assert(await isAlive(target, auth));
  },
  "not without a session": async (target) => {
    for (
      const step of [
        "end",
        "pause",
        "resume",
        "narrow",
        "work/answer",
        "work/cancel",
        "tokens",
        "sign-out",
        "export",
        "erase",
      ]
    ) {
      const answer = await target.form(`/account/${step}`, {
        csrf: "x",
        grants: "x",
        grant: "x",
      });
      assert.equal(answer.status, 403);
    }
  },
  "not by GET": async (target) => {
    const steps = [
      "end",
      "pause",
      "resume",
      "narrow",
      "work/answer",
      "work/cancel",
      "sign-in",
      "sign-out",
      "export",
      "erase",
    ];
    for (const step of steps) {
      assert.equal((await target.ask(`/account/${step}`)).status, 405);
    }
  },
  "not after an hour": async (target) => {
    using time = new FakeTime();
    const { browser } = await accountOf(target, "jo");
    time.tick(ACCOUNT_SESSION_SECONDS);
    assert.match((await browser.open(ACCOUNT)).text, /Sign in with/);
  },
  "not after it was left": async (target) => {
    const { browser, account, cookie } = await accountOf(target, "jo");
    await browser.press(formOf(account, "/account/sign-out"), "", "");
    const { text } = await target.ask("/account", { headers: { cookie } });
    assert.doesNotMatch(text, /Signed in as/);
  },
  "not for a sign-in that began in another browser": async (target) => {
    const begin = (browser: Browser) =>
      caughtOnReturn(target, async () => {
        const page = await browser.open(ACCOUNT);
        await browser.press(formOf(page, "/account/sign-in"), "", "");
      });
    const back = await begin(target.browser());
    // The victim is also on the way to sign in.
    const victim = target.browser();
    await begin(victim);
    for (const cookie of ["", cookiesOf(victim)]) {
      const answer = await target.ask(back, { headers: { cookie } });
      assert.equal(answer.status, 400);
      assert.doesNotMatch(
        answer.headers.getSetCookie().join(),
        /account(-.{8})?=\w/,
      );
    }
  },
  "and is kept by no one on the way": async (target) => {
    const { account } = await accountOf(target, "jo");
    assert.equal(account.headers.get("cache-control"), "no-store");
    assert.match(
      account.headers.get("content-security-policy")!,
      /frame-ancestors 'none'.*form-action 'self'/,
    );
  },
});
