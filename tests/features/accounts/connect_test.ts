/** The page on which a person connects an account: what it refuses, and why. */
import assert from "node:assert/strict";
import type { PersonalKeyOptions } from "../../../src/mod.ts";
import { jsonLine } from "../../../src/core/log/log_line.ts";
import type { AccountRecord } from "../../../src/features/accounts/accounts.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, statusOf, textOf } from "../../kit/answer.ts";
import {
  clientOf,
  connect,
  linkOf,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { checkEndsWithSession, waitsIn } from "../../kit/ended_session.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import { recordLog } from "../../kit/log.ts";
import { BASE_URL } from "../../kit/server.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { until } from "../../kit/wait.ts";

const PATH = "/connect/linear";

/** Pastes something, and gives the words of the page that answers. */
async function paste(
  visitor: AccountVisitor,
  key: string,
  fields: Record<string, string> = {},
): Promise<string> {
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  await visitor.press(PATH, { answer: "connect", key, ...fields });
  return visitor.words;
}

Deno.test("POST /connect/:name tells what is no key before anything is kept", async () => {
  await using service = new KeyService("ada@acme");
  await using server = await startConnected(service.key());
  const visitor = await AccountVisitor.signIn(server);
  const refusals: [key: string, words: RegExp][] = [
    ["", /Paste the key first/],
    ["  ", /Paste the key first/],
    ["sk-another", /does not look like a key of Linear/],
    [`lin_${"a".repeat(5000)}`, /has 5004 characters, more than a key has/],
    ["lin_a\nlin_b", /one line of letters, digits and signs/],
    ["lin_a b", /one line/],
    ["lin_\u0000", /one line/],
    ["lin_é", /one line/],
  ];
  for (const [key, words] of refusals) {
    assert.match(await paste(visitor, key), words);
    assert.match(visitor.words, /Nothing was kept/);
    assert.equal(visitor.page.status, 400);
  }
  assert.deepEqual(service.seen, []);
  await paste(visitor, `lin_${"a".repeat(100_000)}`);
  assert.equal(visitor.page.status, 413);
  await visitor.look("/accounts");
  assert.doesNotMatch(visitor.words, /Disconnect/);
});

/** Makes an answer that becomes larger when it is decoded. */
function zipped(bytes: number): Response {
  const body = new Blob(["a".repeat(bytes)]).stream();
  return new Response(body.pipeThrough(new CompressionStream("gzip")), {
    headers: { "content-encoding": "gzip" },
  });
}

Deno.test("POST /connect/:name asks the service, and says what it answered", async () => {
  await using service = new KeyService("ada@acme");
  const log = recordLog();
  await using server = await startConnected(service.key(), log);
  const visitor = await AccountVisitor.signIn(server);
  const key = "lin_secret";
  const answers: [answer: KeyService["answer"], words: RegExp][] = [
    [undefined, /Linear does not take this key \(401\)/],
    [() => new Response("<html>", { status: 503 }), /cannot say now.*\(503\)/],
    [() => new Response("", { status: 429 }), /cannot say now.*\(429\)/],
    [
      () => Response.redirect("https://evil.example/"),
      /Linear leads to https:\/\/evil\.example, where its key does not go/,
    ],
    [() => zipped(2 << 20), /Linear answered with more than 1048576 bytes/],
  ];
  for (const [answer, words] of answers) {
    service.answer = answer;
    assert.match(await paste(visitor, key), words);
    assert.doesNotMatch(visitor.page.text, /secret/);
  }
  await service[Symbol.asyncDispose]();
  assert.match(await paste(visitor, key), /Linear did not answer/);
  assert.doesNotMatch(JSON.stringify(log.events), /secret/);
  const refusals = log.events.map(({ properties }) => properties?.refusal);
  assert.deepEqual(refusals.filter(Boolean), [
    "linear answered 401",
    "linear answered 503",
    "linear answered 429",
    ...Array(3).fill("nothing was kept for linear"),
  ]);
});

Deno.test("a check may tell no name, or fail", async () => {
  await using service = new KeyService("ada@acme");
  const checks: [PersonalKeyOptions["check"], RegExp][] = [
    [undefined, /Connected\. Linear does not say whose key it is/],
    [
      (fetch) => fetch("/me"),
      /Connected\. Linear does not say whose key it is/,
    ],
    [() => "\n\n", /Connected\. Linear does not say whose key it is/],
    [() => "Ada \u202e<b>", /it is the key of Ada &lt;b&gt;/],
    [() => "<b>Ada</b>", /it is the key of &lt;b&gt;Ada/],
    [() => Promise.reject(new Error("x")), /gave no answer that says/],
  ];
  for (const [check, words] of checks) {
    await using server = await startConnected(service.key("linear", { check }));
    const visitor = await AccountVisitor.signIn(server);
    assert.match(await paste(visitor, keyOf("ada@acme")), words);
  }
});

Deno.test("a check that quotes the key leaves it in no log and no name", async () => {
  await using service = new KeyService("ada@acme");
  const key = keyOf("ada@acme");
  service.answer = (request) =>
    new Response(`${request.headers.get("authorization")} is wrong`);
  const quote: PersonalKeyOptions["check"] = async (fetch) =>
    await (await fetch("/me")).text();
  const checks: [PersonalKeyOptions["check"], RegExp][] = [
    [quote, /name of the account must not hold the key/],
    [
      async (fetch) => {
        const words = await quote(fetch) as string;
        throw new Error(words, { cause: { words } });
      },
      /gave no answer that says/,
    ],
  ];
  for (const [check, words] of checks) {
    const log = recordLog();
    const linear = service.key("linear", { check });
    await using server = await startConnected(linear, log);
    const visitor = await AccountVisitor.signIn(server);
    assert.match(await paste(visitor, key), words);
    const lines = log.events.map((event) => jsonLine(event));
    assert.doesNotMatch(lines.join(), new RegExp(key));
  }
});

Deno.test("a check ends with its time: the key is sent nowhere after it", async () => {
  await using service = new KeyService("ada@acme");
  const late = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const check: PersonalKeyOptions["check"] = async (fetch) => {
    await late.promise;
    return await fetch("/me").finally(ended.resolve);
  };
  await using server = await startConnected(service.key("linear", { check }));
  const visitor = await AccountVisitor.signIn(server);
  {
    using _timers = new HastyTimers([10_000]);
    const words = await paste(visitor, keyOf("ada@acme"));
    assert.match(words, /Linear did not answer\. Try again/);
  }
  late.resolve();
  await ended.promise;
  assert.deepEqual(service.seen, []);
});

Deno.test("accounts with long names that begin alike are two, and one that replaces another says so", async () => {
  await using service = new KeyService();
  const name = "a-team-with-a-name-of-many-words-and-letters@";
  const names = ["x", "y"].map((end) => `${name.repeat(2)}${end}`);
  for (const [n, name] of names.entries()) {
    service.accounts.set(`lin_${n}`, name);
  }
  service.accounts.set("lin_2", "another");
  await using server = await startConnected(
    service.key("linear", { several: true }),
  );
  const visitor = await openConnect(server);
  for (const key of ["lin_0", "lin_1", "lin_1"]) {
    visitor.page = await visitor.browser.open(BASE_URL + PATH);
    await connect(visitor, key);
  }
  for (const [key, replaces] of [["lin_1", true], ["lin_2", false]] as const) {
    visitor.page = await visitor.browser.open(BASE_URL + PATH);
    await visitor.press(PATH, { answer: "connect", key });
    const said = / It takes the place of a-team-with-a-name/.test(
      visitor.words,
    );
    assert.equal(said, replaces);
  }
  await visitor.look("/accounts");
  assert.equal(visitor.words.match(/As a-team-with-a-name/g)?.length, 2);
});

Deno.test("a person names their accounts where there may be several and the service tells no name", async () => {
  await using service = new KeyService("ada@acme");
  const options = { several: true, check: undefined };
  await using server = await startConnected(service.key("linear", options));
  const visitor = await AccountVisitor.signIn(server);
  const key = keyOf("ada@acme");
  assert.match(await paste(visitor, key), /Name the account/);
  const long = "a".repeat(81);
  assert.match(await paste(visitor, key, { label: long }), /Name the account/);
  assert.match(
    await paste(visitor, key, { label: `my ${key}` }),
    /name of the account must not hold the key/,
  );
  await visitor.look("/accounts");
  assert.match(visitor.words, / Connect Linear /);
  assert.match(await paste(visitor, key, { label: "work" }), /as work/);
  assert.match(visitor.words, / Connect another /);
  assert.match(await paste(visitor, key, { label: "home" }), /as home/);
  await visitor.look("/accounts");
  assert.match(visitor.words, /As home .* As work .* Connect another Linear /);
});

Deno.test("one person may try a few keys, and a stranger none", async () => {
  await using service = new KeyService();
  await using server = await startConnected(service.key());
  const visitor = await AccountVisitor.signIn(server);
  for (let n = 0; n < 10; n++) await paste(visitor, "lin_guess");
  await paste(visitor, "lin_guess");
  assert.equal(visitor.page.status, 429);
  assert.equal(service.seen.length, 10);
  const stranger = await server.browser().open(BASE_URL + PATH);
  assert.match(stranger.text, /Sign in first/);
});

Deno.test("there is no page for a service that no tool needs, nor without a key to seal with", async () => {
  await using service = new KeyService();
  await using server = await startConnected(service.key());
  assert.equal(await statusOf(server.fetch("/connect/other")), 404);
  const log = recordLog();
  await using off = await startConnected(service.key(), {
    ...log,
    environment: { SECRETS_KEYS: "" },
  });
  await off.app.start();
  assert.equal(await statusOf(off.fetch(PATH)), 503);
  const visitor = await AccountVisitor.signIn(off, { at: "/accounts" });
  assert.match(visitor.words, /Nothing can be connected at Linear now/);
  assert.doesNotMatch(visitor.words, / Connect Linear /);
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  assert.match(
    visitor.words,
    /keeps no accounts of people at the moment: its operator has to set SECRETS_KEYS\. .* Tell the people who run this server/,
  );
  assert.doesNotMatch(visitor.words, /does not answer|Wait a minute/);
  assert.equal((await (await off.fetch("/ready")).json()).accounts, "off");
  const warnings = log.events.filter(({ level }) => level === "warning");
  assert.match(
    warnings[0].message,
    /are off: set SECRETS_KEYS \(openssl rand -base64 32\)$/,
  );
  assert.equal(
    (await (await server.fetch("/ready")).json()).accounts,
    undefined,
  );
});

Deno.test("where no one can sign in, the start, /ready and a model are told that, and nothing of a key that is set", async () => {
  await using service = new KeyService();
  const log = recordLog();
  await using server = await startConnected(service.key(), {
    ...log,
    environment: { AUTH_STRATEGY: "none" },
  });
  await server.app.start();
  const { missing } = await (await server.fetch("/ready")).json();
  assert.deepEqual(missing, ["AUTH_STRATEGY"]);
  const warnings = log.events.filter(({ level }) => level === "warning");
  assert.deepEqual(warnings.map(({ message }) => message), [
    "Tools that need people's accounts are off: set AUTH_STRATEGY=oauth, so " +
    "that people sign in",
  ]);
  const answer = server.call("tools/call", { name: "who" });
  assert.match(
    await textOf(answer),
    /no one is signed in: that wants AUTH_STRATEGY=oauth/,
  );
});

Deno.test("who may no longer use the server connects nothing", async () => {
  await using service = new KeyService("ada@acme");
  await using server = await startConnected(service.key(), {
    environment: { OAUTH_ALLOWED_USERS: "github:7" },
  });
  const visitor = await AccountVisitor.signIn(server);
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  assert.equal(visitor.page.status, 403);
  await visitor.look();
  const csrf = /name="csrf" value="([^"]*)"/.exec(visitor.page.text)![1];
  const cookie = [...visitor.browser.cookies]
    .map(([name, value]) => `${name.split(" ")[1]}=${value}`).join("; ");
  const fields = { csrf, answer: "connect", key: keyOf("ada@acme") };
  assert.equal(await statusOf(server.form(PATH, fields, { cookie })), 403);
  assert.deepEqual(service.seen, []);
});

Deno.test("an answer with the name of a member of objects is one that connects nothing", async () => {
  await using service = new KeyService("ada@acme");
  await using server = await startConnected(service.key());
  for (const answer of ["constructor", "__proto__", "toString"]) {
    const visitor = await openConnect(server);
    await visitor.press(PATH, { answer });
    assert.equal(visitor.page.status, 200);
    assert.equal(new URL(visitor.page.url).pathname, "/account/accounts");
  }
  assert.deepEqual(service.seen, []);
});

Deno.test("connecting again replaces the key", async () => {
  await using service = new KeyService("ada@acme", "ada@other");
  await using server = await startConnected(service.key());
  const visitor = await openConnect(server);
  await connect(visitor, keyOf("ada@acme"));
  await visitor.look("/accounts");
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  assert.match(visitor.words, /Connected now ada@acme .* The new key takes/);
  await connect(visitor, keyOf("ada@other"));
  await visitor.look("/accounts");
  assert.match(visitor.words, /As ada@other , connected just now , never used/);
  assert.doesNotMatch(visitor.words, /ada@acme/);
});

for (const answer of ["connect", "not-now", "again"]) {
  Deno.test(`POST /connect/:name stores nothing of who is signed out or blocked meanwhile: ${answer}`, async () => {
    await using service = new KeyService("ada@acme");
    await checkEndsWithSession(async (kv) => {
      const server = await startConnected(service.key(), { kv });
      const call = await clientOf(server, "2026");
      if (answer === "again") {
        await connect(await openConnect(server), keyOf("ada@acme"));
        service.answer = () => new Response("", { status: 401 });
        await call("who");
        await until(async () => (await resultOf(call("who"))).isError === true);
        service.answer = undefined;
      }
      const link = linkOf(await resultOf(call("who")));
      const visitor = await openConnect(server, { link });
      if (answer === "connect") {
        await visitor.press(PATH, { answer, key: keyOf("ada@acme") });
      }
      return {
        subject: "github:42",
        press: () => visitor.press(PATH, { answer }),
        async stored() {
          const accounts = kv.list<AccountRecord>({ prefix: ["account"] });
          return answer === "not-now"
            ? await waitsIn(kv)
            : await Array.fromAsync(accounts, ({ value }) =>
              value.refusedAt !== undefined);
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    });
  });
}
