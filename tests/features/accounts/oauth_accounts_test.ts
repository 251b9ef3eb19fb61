/**
 * Tools that act at a service where people allow it by OAuth: a strict plain one,
 * and an OpenID provider that we did not write.
 */
import assert from "node:assert/strict";
import { account, tool } from "../../../src/mod.ts";
import { REFRESH_WAIT_SECONDS } from "../../../src/core/oauth/lifetimes.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import {
  type Call,
  clientOf,
  linkOf,
  startConnected,
} from "../../kit/connected.ts";
import { openTestKv, test } from "../../kit/databases.ts";
import { FakeTime, MovedTime } from "../../kit/fake_time.ts";
import { keyRing } from "../../../src/core/crypto/crypto.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { resealAll } from "../../../src/features/accounts/reseal.ts";
import { OTHER_SECRETS_KEY, SECRETS_KEY } from "../../kit/key_service.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { signInAt, startOpenIdProvider } from "../../kit/open_id_provider.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { TokenService } from "../../kit/token_service.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { until } from "../../kit/wait.ts";

const PATH = "/connect/crm";

/** Starts a server whose tools act at a service. */
function start(
  service: TokenService,
  options: Parameters<typeof startConnected>[1] = {},
): Promise<OAuthServer> {
  return startConnected(service.declare(), {
    ...options,
    environment: { ...service.environment, ...options.environment },
  });
}

/** Signs a person in, and opens the page of the service. */
async function visit(
  server: OAuthServer,
  service: TokenService,
  { as = "42", link = BASE_URL + PATH } = {},
): Promise<AccountVisitor> {
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(server, { as, issuers });
  visitor.page = await visitor.browser.open(link);
  return visitor;
}

/** Connects the account at the service. */
async function connect(visitor: AccountVisitor): Promise<AccountVisitor> {
  await visitor.press(PATH, { answer: "connect" });
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /is connected/);
  return visitor;
}

/** Checks that a person is asked to connect, and gives the link. */
async function asked(call: Call): Promise<string> {
  return linkOf(await resultOf(call("who")));
}

Deno.test("a person allows it at the service, and sees the account before it is kept", async () => {
  await using service = new TokenService();
  const log = recordLog();
  await using server = await start(service, log);
  const call = await clientOf(server, "2026");
  const visitor = await visit(server, service, { link: await asked(call) });
  assert.match(visitor.words, /You allow it at Example CRM/);
  assert.match(visitor.words, /The scopes there read/);
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /says that you are ada@acme there/);
  assert.match(visitor.words, /Nothing is kept yet/);
  await asked(call);
  const [request] = service.requests;
  assert.equal(request.get("scope"), "read");
  assert.equal(request.get("redirect_uri"), `${BASE_URL}${PATH}/callback`);
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /Connected as ada@acme/);
  assert.equal(await textOf(call("who")), "200 ada@acme");
  // The page of the way back has been used up.
  const seen = visitor.page.text + JSON.stringify(log.events);
  assert.doesNotMatch(seen, /crm-(access|refresh|code)/);
});

Deno.test("without an application at the service its tools are off, and everyone is told what is missing", async () => {
  await using service = new TokenService();
  const log = recordLog();
  await using server = await startConnected(service.declare(), log);
  await server.app.start();
  const [{ message, ...told }] = log.events;
  assert.match(message, /Tools that act at a service are off/);
  assert.match(JSON.stringify(told), /ACCOUNT_CRM_CLIENT_ID/);
  const call = await clientOf(server, "2026");
  assert.match(
    await textOf(call("who")),
    /not registered at Example CRM: .*set ACCOUNT_CRM_CLIENT_ID/,
  );
  const visitor = await visit(server, service);
  assert.equal(visitor.page.status, 503);
  const { missing } = await (await server.fetch("/ready")).json();
  assert.deepEqual(missing, ["ACCOUNT_CRM_CLIENT_ID"]);
});

Deno.test("a token that is too long is not kept, and revoked", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  const visitor = await visit(server, service);
  service.answer = (_, path) =>
    path === "/token"
      ? Response.json({ access_token: "a".repeat(20_000) })
      : undefined;
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /gave a token that is too long/);
  await until(() => service.revoked.length === 1);
});

Deno.test("who does not want it after all keeps nothing, and the service is told", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  const call = await clientOf(server, "2026");
  const visitor = await visit(server, service, { link: await asked(call) });
  await visitor.press(PATH, { answer: "connect" });
  await visitor.press(PATH, { answer: "not-now" });
  await until(() => service.revoked.length > 0);
  assert.deepEqual(service.revoked, ["crm-refresh-3"]);
  assert.match(await textOf(call("who")), /has not connected Example CRM/);
});

Deno.test("a page of tokens that were revoked since keeps nothing: after Not now, and after disconnecting", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  const visitor = await visit(server, service);
  await visitor.press(PATH, { answer: "connect" });
  const { page } = visitor;
  await visitor.press(PATH, { answer: "not-now" });
  await until(() => service.revoked.length === 1);
  visitor.page = page;
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /Example CRM does not take this any more/);
  await visitor.press(PATH, { answer: "connect" });
  const second = visitor.page;
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /Connected as ada@acme/);
  await visitor.look("/accounts");
  await visitor.press("/account/accounts/disconnect");
  await until(() => service.revoked.length === 2);
  visitor.page = second;
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /Example CRM does not take this any more/);
});

Deno.test("a page of tokens that are kept, and Not now in the same page later, leave them alone", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  const call = await clientOf(server, "2026");
  const visitor = await visit(server, service);
  await visitor.press(PATH, { answer: "connect" });
  const { page } = visitor;
  await visitor.press(PATH, { answer: "connect" });
  for (const answer of ["connect", "not-now"]) {
    visitor.page = page;
    await visitor.press(PATH, { answer });
  }
  assert.equal(await textOf(call("who")), "200 ada@acme");
  assert.deepEqual(service.revoked, []);
});

Deno.test("tokens that no one can keep any more are revoked: of a session that has ended, and of a page that was left", async () => {
  using time = new MovedTime();
  await using service = new TokenService();
  await using server = await start(service);
  const visitor = await visit(server, service);
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /says that you are ada@acme there/);
  const leaving = await visit(server, service, { as: "7" });
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<undefined>();
  service.lose = (path) => {
    if (path !== "/token") return undefined;
    arrived.resolve();
    return left.promise;
  };
  const account = await leaving.browser.open(`${BASE_URL}/account`);
  const signOut = formOf(account, "/account/sign-out");
  const coming = leaving.press(PATH, { answer: "connect" });
  await arrived.promise;
  await leaving.browser.press(signOut, "", "");
  left.resolve(undefined);
  assert.equal((await coming).status, 403);
  await until(() => service.grants[1].isEnded);
  assert.equal(service.grants[0].isEnded, false);
  time.tick(16 * 60);
  await server.fetch("/health");
  await until(() => service.grants[0].isEnded);
});

test.onDatabases("refresh tokens that rotate are used once, by one of many calls in two processes", async ({ kv, other }) => {
  await using service = new TokenService();
  await using one = await start(service, { kv });
  await using two = await start(service, { kv: other });
  // Shorter than the margin: the first use refreshes it.
  service.lifetime = 1;
  await connect(await visit(one, service));
  service.lifetime = 3600;
  const calls = [await clientOf(one, "2026"), await clientOf(two, "2026")];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => textOf(calls[at % 2]("who"))),
  );
  assert.deepEqual(new Set(answers), new Set(["200 ada@acme"]));
  assert.equal(service.reused, 0);
  assert.equal(service.asked.filter((it) => it === "/token").length, 2);
});

Deno.test("good tokens that come after another process met a refusal make an account good again", async () => {
  using time = new MovedTime();
  await using kv = await openTestKv();
  await using service = new TokenService();
  service.lifetime = 1;
  await using one = await start(service, { kv });
  await using two = await start(service, { kv });
  await connect(await visit(one, service));
  const [first, second] = [
    await clientOf(one, "2026"),
    await clientOf(two, "2026"),
  ];
  service.lifetime = 3600;
  const arrived = Promise.withResolvers<void>();
  const held = Promise.withResolvers<undefined>();
  service.lose = (path) => {
    if (path !== "/token") return undefined;
    arrived.resolve();
    return held.promise;
  };
  const answer = textOf(first("who"));
  await arrived.promise;
  // A service that only refuses a token which was used.
  service.answer = (_, path) =>
    path === "/token"
      ? Response.json({ error: "invalid_grant" }, { status: 400 })
      : undefined;
  {
    using _timers = new HastyTimers([REFRESH_WAIT_SECONDS * 1000]);
    // The first process is cut off until its lease is over.
    await until(async () => {
      time.tick(5);
      return (await textOf(second("who"))).includes(PATH);
    });
  }
  service.answer = undefined;
  held.resolve(undefined);
  assert.equal(await answer, "200 ada@acme");
  time.tick(2);
  assert.equal(await textOf(second("who")), "200 ada@acme");
});

Deno.test("an account that is sealed with a key that is not here keeps what was refreshed here, and then asks its person", async () => {
  await using kv = await openTestKv();
  await using service = new TokenService();
  service.lifetime = 1;
  const log = recordLog();
  await using server = await start(service, { ...log, kv });
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  const ring = keyRing([OTHER_SECRETS_KEY, SECRETS_KEY]);
  // Again, where the note of a use came between.
  const reseal = () =>
    until(async () => (await resealAll(new Database(kv), ring)).left === 0);
  service.lifetime = 3600;
  service.lose = async (path) => {
    if (path === "/token") await reseal();
    return undefined;
  };
  assert.equal(await textOf(call("who")), "200 ada@acme");
  service.lose = undefined;
  service.answer = (_, path) =>
    path === "/api/me" ? new Response(null, { status: 401 }) : undefined;
  await reseal();
  assert.equal(await textOf(call("who")), "401 ");
  await until(async () => (await textOf(call("who"))).includes(PATH));
  assert.equal(log.events.filter(({ level }) => level === "error").length, 0);
});

Deno.test("a start says that no key of SECRETS_KEYS opens an account that is there", async () => {
  await using kv = await openTestKv();
  await using service = new TokenService();
  await using server = await start(service, { kv });
  await connect(await visit(server, service));
  const both = `${OTHER_SECRETS_KEY},${SECRETS_KEY}`;
  for (const [keys, warned] of [[both, 0], [OTHER_SECRETS_KEY, 1]] as const) {
    const log = recordLog();
    const environment = { SECRETS_KEYS: keys };
    await using started = await start(service, { ...log, kv, environment });
    await started.app.start();
    await started.app.close();
    const warnings = log.events.filter(({ level }) => level === "warning");
    assert.equal(warnings.length, warned);
    assert.equal(
      warnings.at(-1)?.properties.setting,
      warned ? "SECRETS_KEYS" : undefined,
    );
  }
});

Deno.test("a token that the API refuses is refreshed, and the request sent again", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  service.grants[0].access.clear();
  assert.equal(await textOf(call("who")), "200 ada@acme");
  assert.equal(service.reused, 0);
});

Deno.test("requests at once that lose one token share the next, which a late answer does not end", async () => {
  await using service = new TokenService();
  const linear = service.declare();
  const many = tool({
    name: "many",
    needs: { linear },
    async run(_input, { needs }) {
      const sent = ["/0", "/1", "/2"].map((path) => needs.linear.fetch(path));
      const answers = await Promise.all(sent);
      await Promise.all(answers.map(({ body }) => body?.cancel()));
      return answers.map(({ status }) => status).join();
    },
  });
  await using server = await startConnected(linear, {
    environment: service.environment,
    tools: [many],
  });
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  const [{ access }] = service.grants;
  access.clear();
  const before = service.asked.length;
  const sent = Promise.withResolvers<undefined>();
  const renewed = Promise.withResolvers<undefined>();
  service.lose = (path) => {
    // A new token ends the one before.
    if (path === "/token" && access.size > 1) access.delete([...access][0]);
    const asked = service.asked.slice(before);
    if (asked.length === 3) sent.resolve(undefined);
    if (asked.filter((it) => it === "/api/0").length === 2) {
      renewed.resolve(undefined);
    }
    if (path === "/api/0") return sent.promise;
    return path === "/token" ? undefined : renewed.promise;
  };
  assert.equal(await textOf(call("many")), "200,200,200");
  const renewals = service.asked.slice(before).filter((it) => it === "/token");
  assert.equal(renewals.length, 1);
});

Deno.test("a resource that is refused for ever costs one token a minute, and the tool gets the refusal", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  const before = service.asked.length;
  let isBusy = false;
  service.answer = (_, path) =>
    path === "/api/closed"
      ? new Response(null, { status: 401 })
      : isBusy
      ? new Response(null, { status: 429 })
      : undefined;
  using time = new MovedTime();
  for (const [seconds, renewals] of [[0, 1], [0, 1], [61, 2], [0, 2]]) {
    time.tick(seconds);
    isBusy = renewals > 1;
    assert.equal(await textOf(call("fetch", { path: "/closed" })), "401");
    const asked = service.asked.slice(before);
    assert.equal(asked.filter((it) => it === "/token").length, renewals);
  }
});

Deno.test("a service that cannot refresh now is asked again after its Retry-After, a minute at most, and else after five seconds", async () => {
  using time = new MovedTime();
  await using service = new TokenService();
  service.lifetime = 1;
  await using server = await start(service);
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  // The token has expired.
  time.tick(1);
  const before = service.asked.length;
  let retryAfter = "";
  service.answer = (_, path) =>
    path === "/token"
      ? new Response("{}", {
        status: 429,
        headers: { "retry-after": retryAfter },
      })
      : undefined;
  const pauses: [retryAfter: () => string, seconds: number][] = [
    [() => "", 5],
    [() => "20", 20],
    [() => new Date(Date.now() + 40_000).toUTCString(), 40],
    [() => "3600", 60],
  ];
  for (const [at, [header, seconds]] of pauses.entries()) {
    retryAfter = header();
    for (const passed of [0, seconds / 2]) {
      time.tick(passed);
      assert.match(await textOf(call("who")), /try again later/);
      const asked = service.asked.slice(before);
      assert.deepEqual(asked, Array(at + 1).fill("/token"));
    }
    time.tick(seconds / 2);
  }
  service.answer = undefined;
  assert.equal(await textOf(call("who")), "200 ada@acme");
});

Deno.test("a token of a minute is used for half of it, and to its end while the service refreshes none", async () => {
  using time = new MovedTime();
  await using service = new TokenService();
  service.lifetime = 60;
  await using server = await start(service);
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  const countRefreshes = async (calls: number, words: RegExp) => {
    const before = service.asked.length;
    for (let nth = 0; nth < calls; nth++) {
      assert.match(await textOf(call("who")), words);
    }
    const asked = service.asked.slice(before);
    return asked.filter((path) => path === "/token").length;
  };
  assert.equal(await countRefreshes(10, /^200/), 0);
  time.tick(30);
  assert.equal(await countRefreshes(10, /^200/), 1);
  service.answer = (_, path) =>
    path === "/token" ? new Response(null, { status: 503 }) : undefined;
  time.tick(31);
  assert.ok(await countRefreshes(3, /^200/) > 0);
  time.tick(30);
  await countRefreshes(1, /does not give access now/);
});

Deno.test("a token that could not be renewed is renewed as soon as its service answers again", async () => {
  using time = new MovedTime();
  await using service = new TokenService();
  await using server = await start(service);
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  service.grants[0].access.clear();
  service.answer = (_, path) =>
    path === "/token" ? new Response(null, { status: 503 }) : undefined;
  assert.match(await textOf(call("who")), /^401/);
  service.answer = undefined;
  time.tick(5);
  assert.equal(await textOf(call("who")), "200 ada@acme");
});

Deno.test("a token without a refresh token ends when the service no longer knows whose it is", async () => {
  await using service = new TokenService();
  service.lifetime = 0;
  await using server = await start(service);
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  // Another reason: only this request is refused.
  service.answer = (_, path) =>
    path === "/api/closed" ? new Response(null, { status: 401 }) : undefined;
  assert.equal(await textOf(call("fetch", { path: "/closed" })), "401");
  assert.equal(await textOf(call("who")), "200 ada@acme");
  service.grants[0].access.clear();
  assert.match(await textOf(call("who")), /^401/);
  await asked(call);
});

Deno.test("a token without a refresh token, at a service without a check, has ended once its API refuses all of a call", async () => {
  await using service = new TokenService();
  service.lifetime = 0;
  const crm = service.declare({ check: undefined });
  const paths = ["/me", "/closed"];
  await using server = await startConnected(crm, {
    environment: service.environment,
    tools: [
      tool({
        name: "who",
        needs: { crm },
        async run(_input, { needs }) {
          const statuses = [];
          for (const path of paths) {
            const { body, status } = await needs.crm.fetch(path);
            await body?.cancel();
            statuses.push(status);
          }
          return statuses.join(" ");
        },
      }),
    ],
  });
  const visitor = await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  service.answer = (_, path) =>
    path === "/api/closed" ? new Response(null, { status: 401 }) : undefined;
  for (let nth = 0; nth < 2; nth++) {
    assert.equal(await textOf(call("who")), "200 401");
  }
  service.grants[0].access.clear();
  assert.equal(await textOf(call("who")), "401 401");
  await until(async () => (await resultOf(call("who"))).isError === true);
  visitor.page = await visitor.browser.open(await asked(call));
  assert.match(visitor.words, /did not take its token/);
  await connect(visitor);
  assert.equal(await textOf(call("who")), "200 401");
});

Deno.test("a token without a refresh token asks the person once it has expired, and is good again when the clock was wrong", async () => {
  await using service = new TokenService();
  service.lose = (path) =>
    path === "/token"
      ? Response.json({ access_token: "crm-access-2", expires_in: 1800 })
      : undefined;
  using time = new FakeTime();
  await using server = await start(service);
  const visitor = await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  assert.equal(await textOf(call("who")), "200 ada@acme");
  time.set(1800);
  await asked(call);
  time.set(-1800);
  assert.equal(await textOf(call("who")), "200 ada@acme");
  time.tick(1800);
  visitor.page = await visitor.browser.open(await asked(call));
  service.lose = undefined;
  await connect(visitor);
  assert.equal(await textOf(call("who")), "200 ada@acme");
});

Deno.test("a check that does not end, or ends in too much, keeps no call", async () => {
  await using service = new TokenService();
  service.lifetime = 0;
  await using server = await start(service);
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  const answered = async (body: ReadableStream) => {
    service.answer = (_, path) =>
      path === "/api/me"
        ? new Response(body)
        : new Response(null, { status: 401 });
    assert.equal(await textOf(call("fetch", { path: "/closed" })), "401");
  };
  let isAborted = false;
  {
    using _timers = new HastyTimers([10_000]);
    // The time of a check may be over before its request has left.
    await until(async () => {
      const cancel = () => void (isAborted = true);
      await answered(new ReadableStream({ cancel }));
      return isAborted;
    });
  }
  await answered(ReadableStream.from(endless()));
});

/** Gives text without an end. */
async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) yield new Uint8Array(64 * 1024);
}

for (
  const [what, path, lifetime] of [
    ["a request that the API refuses", "/api/me", 3600],
    ["a refresh", "/token", 1],
  ] as const
) {
  Deno.test(`${what} while another account is put in its place is not sent as that one`, async () => {
    await using service = new TokenService();
    service.lifetime = lifetime;
    await using server = await start(service);
    const call = await clientOf(server, "2026");
    await connect(await visit(server, service));
    const arrived = Promise.withResolvers<void>();
    const held = Promise.withResolvers<undefined>();
    let isRunning = path === "/api/me";
    service.answer = (_, asked) => {
      if (asked !== path) return undefined;
      // The first refresh is that of the look before the tool runs.
      if (!isRunning) return void (isRunning = true);
      service.answer = undefined;
      arrived.resolve();
      return held.promise;
    };
    const answer = textOf(call("who"));
    await arrived.promise;
    service.account = "ada@home";
    service.lifetime = 3600;
    await connect(await visit(server, service));
    await until(() => service.revoked.length > 0);
    held.resolve(undefined);
    assert.doesNotMatch(await answer, /ada@home/);
    // The old account may be in memory for a second.
    await until(async () => await textOf(call("who")) === "200 ada@home");
  });
}

for (const error of ["invalid_grant", "access_denied", "token_revoked"]) {
  Deno.test(`${error} asks the person again, and the service no second time`, async () => {
    await using service = new TokenService();
    service.lifetime = 1;
    await using server = await start(service);
    const visitor = await connect(await visit(server, service));
    const call = await clientOf(server, "2026");
    service.answer = (_, path) =>
      path === "/token" ? Response.json({ error }, { status: 400 }) : undefined;
    const before = service.asked.length;
    const link = await asked(call);
    await asked(call);
    assert.deepEqual(service.asked.slice(before), ["/token"]);
    assert.match(
      await visitor.look("/accounts"),
      /Example CRM did not take its token/,
    );
    visitor.page = await visitor.browser.open(link);
    service.answer = undefined;
    service.lifetime = 3600;
    await connect(visitor);
    assert.equal(await textOf(call("who")), "200 ada@acme");
  });
}

Deno.test("a service that sends the person back with an error is told in words, and one of ours to the operator", async () => {
  await using service = new TokenService();
  const log = recordLog();
  await using server = await start(service, log);
  const visitor = await visit(server, service);
  const warnings = () => log.events.filter(({ level }) => level === "warning");
  for (
    const [error, words, warned] of [
      ["access_denied", /Example CRM did not allow it/, 0],
      ["temporarily_unavailable", /Example CRM does not answer/, 0],
      ["invalid_scope", /of no use.*find the reason in its log/, 1],
      ["<b>crm-access", /of no use/, 2],
    ] as const
  ) {
    service.refusal = error;
    await visitor.press(PATH, { answer: "connect" });
    assert.equal(visitor.page.status, 400);
    assert.match(visitor.words, words);
    assert.equal(warnings().length, warned, JSON.stringify(warnings()));
  }
  assert.match(Deno.inspect(warnings()[0]), /refused with invalid_scope/);
  const seen = visitor.page.text + JSON.stringify(log.events);
  assert.doesNotMatch(seen, /crm-access/);
  assert.equal(service.asked.includes("/token"), false);
});

/** Faults of a service that is asked for new tokens. */
const FAULTS: Record<string, () => Response | Promise<Response>> = {
  "a page": () =>
    new Response("<html>access", { headers: { "content-type": "text/html" } }),
  "a page with 503": () => new Response("<html>", { status: 503 }),
  "429": () => new Response("{}", { status: 429 }),
  "a redirect": () => Response.redirect("https://evil.example/token"),
  "another error": () =>
    Response.json({ error: "invalid_request" }, { status: 400 }),
  "no token": () => Response.json({}),
  "a token that is too long": () =>
    Response.json({ access_token: "a".repeat(20_000) }),
};

for (const [name, fault] of Object.entries(FAULTS)) {
  Deno.test(`a service that answers a refresh with ${name} gives the model words, and loses no connection`, async () => {
    await using service = new TokenService();
    const log = recordLog();
    service.lifetime = 1;
    using time = new MovedTime();
    await using server = await start(service, log);
    await connect(await visit(server, service));
    const call = await clientOf(server, "2026");
    time.tick(1);
    service.answer = (_, path) => path === "/token" ? fault() : undefined;
    const { isError, content } = await resultOf(call("who"));
    assert.equal(isError, true);
    assert.match(
      content[0].text,
      /^Example CRM does not give access now.* on their account page\.$/,
    );
    service.answer = undefined;
    time.tick(5);
    assert.equal(await textOf(call("who")), "200 ada@acme");
    assert.doesNotMatch(JSON.stringify(log.events), /crm-(access|refresh)/);
  });
}

Deno.test("a service that refuses our application tells the model who can help, and the operator which setting to look at", async () => {
  await using service = new TokenService();
  const log = recordLog();
  service.lifetime = 1;
  using time = new MovedTime();
  await using server = await start(service, log);
  const visitor = await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  time.tick(1);
  service.answer = (_, path) =>
    path === "/token"
      ? Response.json({ error: "invalid_client" }, { status: 401 })
      : undefined;
  assert.match(
    await textOf(call("who")),
    /Trying again does not help: its operator has to set ACCOUNT_CRM_CLIENT_ID and ACCOUNT_CRM_CLIENT_SECRET/,
  );
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /find the reason in its log/);
  const warnings = log.events.filter(({ level }) => level === "warning");
  assert.equal(warnings.length, 2);
  for (const warning of warnings) {
    assert.match(Deno.inspect(warning), /ACCOUNT_CRM_CLIENT_SECRET/);
  }
});

Deno.test("a client that could not be loaded is loaded by the next call", async () => {
  await using service = new TokenService();
  let isBroken = false;
  const linear = {
    ...service.declare(),
    get params() {
      if (isBroken) throw new TypeError("Module not found");
      return undefined;
    },
  };
  const { environment } = service;
  await using server = await startConnected(linear, { environment });
  await connect(await visit(server, service));
  const call = await clientOf(server, "2026");
  isBroken = true;
  assert.match(await textOf(call("who")), /^Internal error/);
  isBroken = false;
  assert.equal(await textOf(call("who")), "200 ada@acme");
});

/** Loses the answers of one path from now on, of what the service has done. */
function lose(service: TokenService, lost?: string): void {
  service.lose = (path) =>
    path === lost ? new Response("lost", { status: 502 }) : undefined;
}

Deno.test("a token that came in place of another, and is too long, is revoked", async () => {
  await using service = new TokenService();
  service.lifetime = 1;
  using time = new MovedTime();
  await using server = await start(service);
  await connect(await visit(server, service));
  time.tick(1);
  const call = await clientOf(server, "2026");
  service.answer = (_, path) =>
    path === "/token"
      ? Response.json({
        access_token: "a".repeat(20_000),
        refresh_token: "crm-refresh-new",
      })
      : undefined;
  assert.match(await textOf(call("who")), /does not give access now/);
  assert.deepEqual([...new Set(service.revoked)], ["crm-refresh-new"]);
});

Deno.test("an answer that is lost on the way back keeps nothing, and the next try works", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  const visitor = await visit(server, service);
  for (const path of ["/token", "/api/me"]) {
    lose(service, path);
    await visitor.press(PATH, { answer: "connect" });
    assert.equal(visitor.page.status, 400);
    assert.match(visitor.words, /Example CRM .*Nothing was kept/);
  }
  // Tokens that were not kept are no good at the service either.
  await until(() => service.grants[1].isEnded);
  lose(service);
  await connect(visitor);
  assert.equal(service.reused, 0);
});

Deno.test("a lost answer to a refresh loses the connection only where the service allows no repeat", async () => {
  for (const hasGrace of [true, false]) {
    using time = new MovedTime();
    await using service = new TokenService();
    Object.assign(service, { hasGrace, lifetime: 1 });
    await using server = await start(service);
    const visitor = await connect(await visit(server, service));
    const call = await clientOf(server, "2026");
    time.tick(1);
    lose(service, "/token");
    assert.match(await textOf(call("who")), /does not give access now/);
    lose(service);
    time.tick(5);
    if (!hasGrace) {
      visitor.page = await visitor.browser.open(await asked(call));
      await connect(visitor);
    }
    assert.equal(await textOf(call("who")), "200 ada@acme");
  }
});

Deno.test("the tokens of an account that another replaces are revoked, and those of the same account are not", async () => {
  await using service = new TokenService();
  await using server = await start(service);
  const visitor = await connect(await visit(server, service));
  // Some services end all tokens of an account together.
  const again = async () => {
    visitor.page = await visitor.browser.open(BASE_URL + PATH);
    await visitor.press(PATH, { answer: "connect" });
    assert.match(visitor.words, /takes the place of ada@acme , connected/);
    return visitor.page;
  };
  await again();
  await visitor.press(PATH, { answer: "not-now" });
  lose(service, "/api/me");
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /cannot say now/);
  lose(service);
  const kept = await again();
  await visitor.press(PATH, { answer: "connect" });
  // The same page once more, by the Back button.
  visitor.page = kept;
  await visitor.press(PATH, { answer: "not-now" });
  service.account = "ada@other";
  await again();
  await visitor.press(PATH, { answer: "connect" });
  await until(() => service.revoked.length > 0);
  assert.deepEqual(service.revoked, ["crm-refresh-12"]);
  const call = await clientOf(server, "2026");
  assert.equal(await textOf(call("who")), "200 ada@other");
});

Deno.test("tokens that came with a wrong id_token are revoked, and a plain service may send one unasked", async () => {
  for (const isOpenId of [true, false]) {
    await using service = new TokenService();
    const { origin, environment } = service;
    const declared = isOpenId
      ? account("crm", { issuer: origin, api: origin })
      : service.declare();
    await using server = await startConnected(declared, { environment });
    service.answer = (_, path) =>
      path === "/.well-known/openid-configuration"
        ? Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          revocation_endpoint: `${origin}/revoke`,
          jwks_uri: `${origin}/keys`,
        })
        : undefined;
    service.lose = (path) =>
      path === "/token"
        ? Response.json({ access_token: "crm-access-2", id_token: "a.b.c" })
        : undefined;
    const visitor = await visit(server, service);
    const besides = /Besides, if it has them openid , email , offline_access/;
    assert.equal(besides.test(visitor.words), isOpenId);
    await visitor.press(PATH, { answer: "connect" });
    if (isOpenId) {
      assert.match(visitor.words, /answer that is of no use/);
      await until(() => service.revoked.length === 1);
    } else assert.match(visitor.words, /says that you are ada@acme there/);
  }
});

for (const other of [undefined, "ada@other"]) {
  Deno.test(`tokens that come for an account that is ${other ?? "gone"} by now are revoked`, async () => {
    await using service = new TokenService();
    service.lifetime = 1;
    await using server = await start(service);
    const visitor = await connect(await visit(server, service));
    const call = await clientOf(server, "2026");
    const arrived = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<undefined>();
    service.lose = (path) => {
      if (path !== "/token") return undefined;
      arrived.resolve();
      return gone.promise;
    };
    const answer = textOf(call("who"));
    await arrived.promise;
    await visitor.look("/accounts");
    await visitor.press("/account/accounts/disconnect");
    if (other) {
      service.lose = undefined;
      service.account = other;
      service.lifetime = 3600;
      visitor.page = await visitor.browser.open(BASE_URL + PATH);
      await connect(visitor);
    }
    gone.resolve(undefined);
    assert.match(await answer, other ? /200 ada@other/ : /connect\/crm/);
    await until(() => service.revoked.length === 2);
    // Which is told first depends on the database.
    assert.deepEqual(service.revoked.sort(), [
      "crm-refresh-3",
      "crm-refresh-5",
    ]);
  });
}

Deno.test("an OpenID provider that we did not write names the account, and is asked for new tokens", async () => {
  const redirectUri = `${BASE_URL}/connect/work/callback`;
  using time = new MovedTime();
  await using provider = await startOpenIdProvider(BASE_URL, {
    redirectUri,
    ttlSeconds: 50,
  });
  const { issuer, environment } = provider;
  const work = account("work", {
    issuer,
    api: issuer,
    scopes: ["openid", "email"],
  });
  await using server = await startConnected(work, {
    environment: {
      ACCOUNT_WORK_CLIENT_ID: environment.OAUTH_CLIENT_ID,
      ACCOUNT_WORK_CLIENT_SECRET: environment.OAUTH_CLIENT_SECRET,
    },
  });
  const visitor = await AccountVisitor.signIn(server, { issuers: [issuer] });
  const path = "/connect/work";
  visitor.page = await visitor.browser.open(BASE_URL + path);
  await visitor.press(path, { answer: "connect" });
  visitor.page = await signInAt(issuer, visitor.browser, visitor.page, "ada");
  assert.match(visitor.words, /says that you are ada@example.com there/);
  await visitor.press(path, { answer: "connect" });
  assert.match(visitor.words, /is connected/);
  const call = await clientOf(server, "2026");
  // Half of the life of the token.
  time.tick(25);
  for (let nth = 0; nth < 2; nth++) {
    assert.match(await textOf(call("who")), /^200 .*"email":"ada@example.com"/);
  }
  assert.equal(provider.asked.filter((it) => it === "/token").length, 2);
});

Deno.test("tokens of another application at the service are not used, whatever their record says", async () => {
  await using service = new TokenService();
  const kv = await Deno.openKv(":memory:");
  const before = await start(service, { kv });
  await connect(await visit(before, service));
  service.clientId = "another-app";
  const log = recordLog();
  const after = await start(service, { ...log, kv });
  const call = await clientOf(after, "2026");
  await asked(call);
  const warnings = log.events.filter(({ level }) => level === "warning");
  assert.match(Deno.inspect(warnings), /ACCOUNT_CRM_CLIENT_ID/);
  await connect(await visit(after, service, { as: "7" }));
  // Someone with the database names the new application in the old record.
  const rows = await Array.fromAsync(kv.list<Json>({ prefix: ["account"] }));
  const [ada, eve] = ["42", "7"].map((as) =>
    rows.find(({ key, value }) =>
      key.length > 2 && value.subject === `github:${as}`
    )!
  );
  await kv.set(ada.key, { ...ada.value, oauth: eve.value.oauth });
  // A process that remembers nothing.
  const last = await start(service, { kv });
  await asked(await clientOf(last, "2026"));
  for (const server of [before, after, last]) {
    await server[Symbol.asyncDispose]();
  }
  kv.close();
});

for (
  const [change, clientId, environment] of [
    ["the application is another", "another-app", {}],
    ["SECRETS_KEYS is gone", undefined, { SECRETS_KEYS: "" }],
  ] as const
) {
  Deno.test(`the page promises no revocation once ${change}`, async () => {
    await using service = new TokenService();
    using kv = await Deno.openKv(":memory:");
    await using before = await start(service, { kv });
    await connect(await visit(before, service));
    if (clientId) service.clientId = clientId;
    await using after = await start(service, { kv, environment });
    const visitor = await AccountVisitor.signIn(after);
    await visitor.look("/accounts");
    assert.match(visitor.words, /Example CRM cannot be told/);
    await visitor.look("/data");
    assert.match(visitor.words, /stay good/);
  });
}

/** Ways in which an account is ended here. */
const ENDS: Record<
  string,
  (visitor: AccountVisitor, server: OAuthServer) => Promise<unknown>
> = {
  "an operator's end of everything": async (_, server) => {
    await clientOf(server, "2026");
    const operator = await AccountVisitor.signIn(server, { as: "1" });
    await operator.look("/people?person=42");
    await operator.press("/account/end");
  },
  disconnecting: async (visitor) => {
    await visitor.look("/accounts");
    assert.match(visitor.words, /Example CRM is told that they end/);
    await visitor.press("/account/accounts/disconnect");
  },
  erasing: async (visitor) => {
    await visitor.signInToErase();
    await visitor.press("/account/erase");
  },
};

for (const [name, endAccount] of Object.entries(ENDS)) {
  Deno.test(`${name} tells the service that the tokens end, later if it does not answer, which keeps no one`, async () => {
    using time = new MovedTime();
    await using service = new TokenService();
    const log = recordLog();
    await using server = await start(service, {
      ...log,
      environment: { OAUTH_ADMINS: "github:1" },
    });
    const visitor = await connect(await visit(server, service));
    await endAccount(visitor, server);
    await until(() => service.grants[0].isEnded);
    assert.deepEqual(service.revoked, ["crm-refresh-3"]);
    const again = await connect(await visit(server, service));
    service.answer = () => new Response(null, { status: 503 });
    await endAccount(again, server);
    await until(() =>
      log.events.some(({ message }) =>
        message === "Tokens of an account could not be revoked yet"
      )
    );
    assert.doesNotMatch(await again.look("/accounts"), /Disconnect/);
    service.answer = undefined;
    time.tick(60);
    await again.look();
    await until(() => service.grants[1].isEnded);
    assert.doesNotMatch(JSON.stringify(log.events), /crm-(access|refresh)/);
  });
}

Deno.test("a revocation whose process is killed is told by another one within a minute", async () => {
  using time = new MovedTime();
  await using kv = await openTestKv();
  await using service = new TokenService();
  await using other = await start(service, { kv });
  await using server = await start(service, { kv });
  const visitor = await connect(await visit(server, service));
  const killed = Promise.withResolvers<undefined>();
  const arrived = Promise.withResolvers<void>();
  service.answer = (_, path) => {
    if (path !== "/revoke") return undefined;
    service.answer = undefined;
    arrived.resolve();
    return killed.promise;
  };
  await visitor.look("/accounts");
  // Its answer does not come before that of the service.
  const pressed = visitor.press("/account/accounts/disconnect");
  await arrived.promise;
  await other.fetch("/health");
  for (const seconds of [20, 20, 19]) {
    time.tick(seconds);
    await other.fetch("/health");
  }
  await until(() => service.grants[0].isEnded);
  killed.resolve(undefined);
  await pressed;
});

Deno.test("a page says that a service is told of the end of an account only where its metadata has a way to tell it", async () => {
  for (const hasWay of [true, false]) {
    await using service = new TokenService();
    const { origin } = service;
    service.answer = (_, path) =>
      path === "/.well-known/openid-configuration"
        ? Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          ...hasWay && { revocation_endpoint: `${origin}/revoke` },
        })
        : undefined;
    const crm = account("crm", {
      issuer: origin,
      api: `${origin}/api`,
      scopes: ["read"],
      check: service.declare().check,
    });
    const { environment } = service;
    await using server = await startConnected(crm, { environment });
    const visitor = await connect(await visit(server, service));
    const words = await visitor.look("/accounts");
    assert.equal(/is told that they end/.test(words), hasWay);
    await visitor.signInToErase();
    const data = await visitor.look("/data");
    assert.equal(/your keys and tokens at/.test(data), !hasWay);
  }
});

Deno.test("more scopes are asked for with the difference, and the old token stays until the new one is there", async () => {
  await using service = new TokenService();
  const kv = await Deno.openKv(":memory:");
  const before = await start(service, { kv });
  const call = await clientOf(before, "2026");
  await connect(await visit(before, service));
  await using after = await startConnected(
    service.declare({ scopes: ["read", "write"] }),
    { kv, environment: service.environment },
  );
  const more = await clientOf(after, "2026");
  const link = await asked(more);
  const visitor = await visit(after, service, { link });
  assert.match(visitor.words, /Not allowed yet write Allowed before read/);
  await visitor.press(PATH, { answer: "connect" });
  assert.equal(await textOf(call("who")), "200 ada@acme");
  await visitor.press(PATH, { answer: "connect" });
  assert.equal(await textOf(more("who")), "200 ada@acme");
  assert.equal(service.requests.at(-1)!.get("scope"), "read write");
  await before[Symbol.asyncDispose]();
  kv.close();
});
