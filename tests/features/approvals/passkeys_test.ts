/**
 * Approvals with a passkey: without its signature under what the page shows no
 * press counts, and who has a browser for a moment cannot take over.
 */
import assert from "node:assert/strict";
import { SoftwarePasskey } from "../../../packages/testing/software_passkey.ts";
import { openRegister } from "../../../packages/operate/register.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { tool, z } from "../../../src/mod.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import {
  checkEndsWithSession,
  type OpenPage,
  waitsIn,
} from "../../kit/ended_session.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { kvThrough } from "../../kit/kv.ts";
import type { Json } from "../../kit/message.ts";
import { recordLog, silentLogger } from "../../kit/log.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { clientOf, linkOf, open, press } from "./approving.ts";
import {
  make,
  openPasskeys,
  optionsIn,
  pathOf,
  send,
  sign,
  SITE,
  withPasskey,
} from "./with_passkeys.ts";

const DAY_SECONDS = 24 * 60 * 60;

let ran = 0;

const pay = tool({
  name: "pay",
  input: z.object({ cents: z.int() }),
  approval: {
    passkey: "required",
    show: ({ cents }) => ({ title: `Pay ${cents}` }),
  },
  run: () => `paid ${++ran}`,
});

const wipe = tool({
  name: "wipe",
  approval: { passkey: "wanted" },
  run: () => `wiped ${++ran}`,
});

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  ran = 0;
  return startOAuthServer({ tools: [pay, wipe], ...options });
}

Deno.test("a call that requires a passkey begins with its signature, and with nothing else", async () => {
  const recorded = recordLog();
  await using server = await start({ ...recorded });
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay", { cents: 1 })));
  const bare = await open(server, link);
  assert.match(bare.words, /You need a passkey for this: make one/);
  assert.doesNotMatch(bare.page.text, /value="approve"/);
  assert.equal((await press(bare, "approve")).status, 403);
  const { visitor, passkey } = await withPasskey(server);
  assert.match(visitor.words, /Phone Made just now \. You can use it now/);
  const signed = await sign(visitor, link, passkey);
  assert.match(visitor.words, /Approve with a passkey/);
  assert.match(
    visitor.page.headers.get("content-security-policy")!,
    /script-src( 'sha256-[^']+'){5};/,
  );
  await press(visitor, "approve");
  assert.match(visitor.words, /The passkey was not accepted/);
  assert.equal((await resultOf(call("pay", { cents: 1 }))).isError, true);
  visitor.page = await visitor.browser.open(link);
  await send(visitor, link, signed);
  assert.match(visitor.words, /Approved\. It begins/);
  assert.equal(await textOf(call("pay", { cents: 1 })), "paid 1");
  assert.match(await visitor.look("/passkeys"), /Used last just now/);
  const text = JSON.stringify(recorded.events);
  assert.match(text, /Passkey made/);
  assert.doesNotMatch(text, new RegExp(passkey.id));
});

Deno.test("presses at once with one passkey all count", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const owner = await AccountVisitor.signIn(server);
  await openPasskeys(owner);
  const passkey = SoftwarePasskey.make();
  await make(owner, passkey);
  const presses = await Promise.all([1, 2, 3, 4].map(async (cents) => {
    const link = linkOf(await resultOf(call("pay", { cents })));
    const visitor = await AccountVisitor.signIn(server);
    return { link, visitor, signed: await sign(visitor, link, passkey) };
  }));
  await Promise.all(
    presses.map(({ link, visitor, signed }) => send(visitor, link, signed)),
  );
  for (const { visitor: { words } } of presses) {
    assert.match(words, /Approved\./);
  }
});

Deno.test("no press without the wanted passkey counts while the connection is resumed", async () => {
  await using real = await openTestKv();
  let resumesAfter = 0;
  let resumed = 0;
  const kv = kvThrough(real, async (operation, key) => {
    const result = await operation();
    const { value } = { ...result } as { value?: Json };
    if (key?.[0] === "grant" && value?.pausedAt && --resumesAfter === 0) {
      resumed++;
      const { pausedAt: _, ...grant } = value;
      await real.set(key, grant);
    }
    return result;
  });
  const erase = tool({
    name: "erase",
    approval: { passkey: "wanted", by: { scope: "erase:approve" } },
    run: () => `erased ${++ran}`,
  });
  await using server = await start({
    kv,
    tools: [erase],
    environment: { OAUTH_PERMISSIONS: "github:1=erase:approve" },
  });
  const boss = await AccountVisitor.signIn(server, {
    as: "1",
    email: "boss@example.com",
  });
  await openPasskeys(boss);
  await make(boss, await SoftwarePasskey.make(1));
  server.provider.email = "jo@example.com";
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("erase")));
  boss.page = await boss.browser.open(link);
  const { page } = boss;
  assert.equal((await press(boss, "approve")).status, 403);
  const caller = await AccountVisitor.signIn(server, { as: "42" });
  for (let reads = 1; reads <= 6; reads++) {
    await caller.look();
    await caller.press("/account/pause");
    resumesAfter = reads;
    boss.page = page;
    await press(boss, "approve");
    resumesAfter = 0;
    await caller.look();
    if (caller.page.text.includes("/account/resume")) {
      await caller.press("/account/resume");
    }
    assert.equal(linkOf(await resultOf(call("erase"))), link, `${reads}`);
  }
  assert.ok(resumed > 1);
});

Deno.test("who has no passkey can refuse a call that requires one, and approve it after all with one", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay", { cents: 1 })));
  const bare = await open(server, link);
  assert.match(bare.page.text, /value="refuse"/);
  await press(bare, "refuse", "Not yet");
  assert.match(bare.words, /Refused\. The app is told so\. Not yet/);
  assert.match(await textOf(call("pay", { cents: 1 })), /said: "Not yet"/);
  assert.doesNotMatch(bare.page.text, /value="approve"/);
  assert.equal((await press(bare, "approve")).status, 403);
  const { visitor, passkey } = await withPasskey(server);
  await send(visitor, link, await sign(visitor, link, passkey));
  assert.match(visitor.words, /Approved\. It begins/);
  assert.equal(await textOf(call("pay", { cents: 1 })), "paid 1");
});

Deno.test("a signature that was made before a refusal does not approve after it", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay", { cents: 1 })));
  const { visitor, passkey } = await withPasskey(server);
  const early = await sign(visitor, link, passkey);
  await press(visitor, "refuse", "Not yet");
  visitor.page = await visitor.browser.open(link);
  await send(visitor, link, early);
  assert.match(visitor.words, /The passkey was not accepted/);
  assert.match(await textOf(call("pay", { cents: 1 })), /said: "Not yet"/);
  await send(visitor, link, await sign(visitor, link, passkey));
  assert.equal(await textOf(call("pay", { cents: 1 })), "paid 1");
});

Deno.test("a signature of another approval, site, page, person, or without a gesture is refused", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay", { cents: 1 })));
  const other = linkOf(await resultOf(call("pay", { cents: 2 })));
  const { visitor, passkey } = await withPasskey(server);
  const stranger = await SoftwarePasskey.make();
  const ofOther = await sign(visitor, other, passkey);
  for (
    const refused of [
      ofOther,
      await sign(visitor, link, passkey, { origin: "https://evil.example" }),
      await sign(visitor, link, passkey, { rpId: "evil.example" }),
      await sign(visitor, link, passkey, { userVerified: false }),
      await sign(visitor, link, stranger),
      "",
      "{",
      '{"id":1}',
      "[".repeat(3000),
    ]
  ) {
    visitor.page = await visitor.browser.open(link);
    await send(visitor, link, refused);
    assert.match(visitor.words, /The passkey was not accepted/, refused);
  }
  assert.equal(ran, 0);
  // A signature is good once: its counter does not go back.
  await send(
    Object.assign(visitor, { page: await visitor.browser.open(other) }),
    other,
    await sign(visitor, other, passkey),
  );
  assert.match(visitor.words, /Approved\./);
  passkey.counter = 1;
  const old = await sign(visitor, link, passkey);
  visitor.page = await visitor.browser.open(link);
  await send(visitor, link, old);
  assert.match(visitor.words, /The passkey was not accepted/);
});

Deno.test("a further passkey counts after a day, or at once once it is confirmed with one that counts, for itself alone", async () => {
  using time = new FakeTime();
  await using server = await start();
  const call = await clientOf(server, "2026");
  const { visitor, passkey } = await withPasskey(server);
  await openPasskeys(visitor);
  const [second, third] = [
    await SoftwarePasskey.make(),
    await SoftwarePasskey.make(),
  ];
  await make(visitor, second);
  assert.match(visitor.words, /You can use it from \d{4}-/);
  await make(visitor, third);
  const confirm = "/account/passkeys/confirm";
  const page = visitor.page;
  assert.match(visitor.words, /Confirm with another passkey, and use it now/);
  const [ofSecond, ofThird] = [0, 1].map((nth) =>
    JSON.parse(
      /data-get="([^"]*)"/.exec(formOf(page, confirm, nth).text)![1]
        .replaceAll("&quot;", '"'),
    ).challenge
  );
  for (
    const get of [
      // The signature for another one, of one that waits itself, of none.
      await passkey.sign({ ...SITE, challenge: ofSecond }),
      await third.sign({ ...SITE, challenge: ofThird }),
      "",
    ]
  ) {
    visitor.page = page;
    await visitor.press(confirm, { get }, 1);
    assert.match(visitor.words, /The passkey was not accepted/);
  }
  visitor.page = page;
  const get = await passkey.sign({ ...SITE, challenge: ofThird });
  await visitor.press(confirm, { get }, 1);
  assert.equal(visitor.words.match(/You can use it from/g)?.length, 1);
  const link = linkOf(await resultOf(call("pay", { cents: 1 })));
  visitor.page = await visitor.browser.open(link);
  const { allowCredentials } = optionsIn(visitor, pathOf(link), "get");
  assert.deepEqual(
    allowCredentials.map(({ id }) => id).sort(),
    [passkey.id, third.id].sort(),
  );
  const early = await sign(visitor, link, second);
  await send(visitor, link, early);
  assert.match(visitor.words, /The passkey was not accepted/);
  time.tick(DAY_SECONDS);
  const later = await AccountVisitor.signIn(server);
  const again = linkOf(
    await resultOf((await clientOf(server, "2026"))("pay", { cents: 3 })),
  );
  const signed = await sign(later, again, second);
  await send(later, again, signed);
  assert.match(later.words, /Approved\./);
});

Deno.test("an old confirmation is worth nothing for a passkey that was removed and made again", async () => {
  using time = new FakeTime();
  await using server = await start();
  const jo = await AccountVisitor.signIn(server);
  // Neither counts its signatures, so that no counter stops what is sent again.
  const first = SoftwarePasskey.make(0);
  const second = SoftwarePasskey.make(0);
  await openPasskeys(jo);
  await make(jo, await first, "Laptop");
  await make(jo, await second, "Phone");
  const confirm = "/account/passkeys/confirm";
  const [, options] = /data-get="([^"]*)"/.exec(formOf(jo.page, confirm).text)!;
  const { challenge } = JSON.parse(options.replaceAll("&quot;", '"'));
  const get = await (await first).sign({ ...SITE, challenge });
  await jo.press(confirm, { get });
  assert.doesNotMatch(jo.words, /You can use it from/);
  const { id } = await second;
  const remove = "/account/passkeys/remove";
  const nth = [0, 1].findIndex((nth) =>
    formOf(jo.page, remove, nth).text.includes(id)
  );
  await jo.press(remove, {}, nth);
  time.tick(DAY_SECONDS);
  const later = await AccountVisitor.signIn(server);
  await openPasskeys(later);
  await make(later, await second, "Phone");
  assert.match(later.words, /You can use it from/);
  await later.press(confirm, { get });
  assert.match(later.words, /The passkey was not accepted/);
});

Deno.test("a removed passkey opens nothing, and whoever removes it cannot take its place for a day", async () => {
  const recorded = recordLog();
  using _time = new FakeTime();
  await using server = await start({ ...recorded });
  const call = await clientOf(server, "2026");
  const wanted = linkOf(await resultOf(call("wipe")));
  const bare = await open(server, wanted);
  assert.match(bare.words, /Without a passkey, a program .* could press/);
  const { visitor, passkey } = await withPasskey(server);
  // It is wanted: who has one uses it.
  await press(bare, "approve");
  assert.match(bare.words, /The passkey was not accepted/);
  const signed = await sign(visitor, wanted, passkey);
  await openPasskeys(visitor);
  await visitor.press("/account/passkeys/remove");
  assert.doesNotMatch(visitor.words, /Phone/);
  const told = recorded.events.filter(({ audit }) => audit);
  assert.equal(told.at(-1)?.message, "Passkey removed");
  visitor.page = await visitor.browser.open(wanted);
  assert.match(visitor.words, /You need a passkey for this/);
  await send(visitor, wanted, signed);
  assert.match(visitor.words, /The passkey was not accepted/);
  await openPasskeys(visitor);
  await make(visitor, await SoftwarePasskey.make());
  visitor.page = await visitor.browser.open(wanted);
  assert.match(
    visitor.words,
    /You need a passkey for this, and can use yours from \d{4}-/,
  );
  assert.equal(ran, 0);
});

Deno.test("the page at a number leads to the one at a host name, on one's own machine", async () => {
  await using server = await start();
  const { words, page } = await AccountVisitor.signIn(server, {
    at: "/passkeys",
  });
  assert.match(
    words,
    /a name like localhost\. Start the server with BASE_URL=http:\/\/localhost:3000 ?, then make yours there/,
  );
  assert.match(page.text, /href="http:\/\/localhost:3000\/account\/passkeys"/);
});

Deno.test("passkeys want a sign-in of the last minutes, a name, and are each there once", async () => {
  await using server = await start();
  const { visitor, passkey } = await withPasskey(server);
  await openPasskeys(visitor);
  const before = { ...visitor.page };
  await make(visitor, passkey);
  assert.equal(visitor.page.status, 409);
  visitor.page = before;
  const nameless = await visitor.press("/account/passkeys", { name: " " });
  assert.equal(nameless.status, 400);
  const usual = await AccountVisitor.signIn(server, { at: "/passkeys" });
  assert.doesNotMatch(usual.page.text, /data-create="|passkeys\/remove/);
  assert.match(usual.words, /Sign in again first/);
  // The form of a page that was open before.
  usual.page = {
    ...before,
    text: before.text.replaceAll(
      /name="csrf" value="[^"]*"/g,
      /name="csrf" value="[^"]*"/.exec(usual.page.text)![0],
    ),
  };
  for (const action of ["/account/passkeys", "/account/passkeys/remove"]) {
    const page = { ...usual.page };
    await usual.press(action, { name: "x" });
    assert.match(usual.words, /Only a sign-in of the last 5 minutes/);
    usual.page = page;
  }
});

Deno.test("who erases a person with passkeys cannot make one that counts in their place, and an operator can let them", async () => {
  using _time = new FakeTime();
  await using server = await start();
  await withPasskey(server);
  const register = openRegister(new Database(server.kv), silentLogger);
  const kept = await register.gather("github:42");
  assert.deepEqual(
    (kept as unknown as { passkeys: { name: string }[] }).passkeys
      .map(({ name }) => name),
    ["Phone"],
  );
  await register.endPerson("github:42");
  assert.equal((await register.passkeys.find("github:42")).own.length, 1);
  const again = await AccountVisitor.signIn(server);
  await again.signInToErase();
  await again.press("/account/erase", { erase: "on" });
  assert.match(again.words, /Erased/);
  assert.equal(await register.isKnown("github:42"), false);
  const thief = await AccountVisitor.signIn(server);
  await openPasskeys(thief);
  await make(thief, await SoftwarePasskey.make());
  assert.match(thief.words, /You can use it from \d{4}-/);
  assert.equal(await register.passkeys.reset("github:42"), 1);
  await openPasskeys(thief);
  await make(thief, await SoftwarePasskey.make());
  assert.match(thief.words, /You can use it now/);
  await register.close();
});

Deno.test("a server without such a tool has no page of passkeys", async () => {
  const plain = tool({ name: "plain", approval: {}, run: () => "done" });
  await using server = await startOAuthServer({ tools: [plain] });
  const visitor = await AccountVisitor.signIn(server);
  await visitor.look("/passkeys");
  assert.equal(visitor.page.status, 404);
});

/** The ways to act on a page: each opens one, and gives its press. */
const PRESSES: Record<
  string,
  (server: OAuthServer) => Promise<OpenPage["press"]>
> = {
  async "an approval without a passkey"(server) {
    const call = await clientOf(server, "2026");
    const page = await open(server, linkOf(await resultOf(call("wipe"))));
    return () => press(page, "approve");
  },
  async "an approval with a passkey"(server) {
    const call = await clientOf(server, "2026");
    const link = linkOf(await resultOf(call("pay", { cents: 1 })));
    const { visitor, passkey } = await withPasskey(server);
    const signed = await sign(visitor, link, passkey);
    return () => send(visitor, link, signed);
  },
  async "a new passkey"(server) {
    const visitor = await AccountVisitor.signIn(server);
    await openPasskeys(visitor);
    const passkey = await SoftwarePasskey.make(1);
    return () => make(visitor, passkey);
  },
  async "the removal of a passkey"(server) {
    const { visitor } = await withPasskey(server);
    await openPasskeys(visitor);
    return () => visitor.press("/account/passkeys/remove");
  },
};

for (const [what, begin] of Object.entries(PRESSES)) {
  Deno.test(`${what} does not count of who is signed out or blocked meanwhile`, async () => {
    await checkEndsWithSession(async (kv) => {
      const server = await start({ kv });
      return {
        subject: "github:42",
        press: await begin(server),
        async stored() {
          const kept = kv.list({ prefix: ["passkeys"] });
          const passkeys = await Array.fromAsync(kept, ({ value }) => value);
          return [await waitsIn(kv), passkeys];
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    });
  });
}
