/**
 * The page of an approval against a hostile client: words that pretend, presses
 * of others, and callers who have no page.
 */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { now } from "../../../src/core/clock.ts";
import { outcome, resultOf } from "../../kit/answer.ts";
import { printArguments } from "../../../src/features/approvals/approval_page.tsx";
import { AccountVisitor, csrfOf } from "../../kit/account_visitor.ts";
import type { Json } from "../../kit/message.ts";
import { keyServer } from "../../kit/key_server.ts";
import { recordLog } from "../../kit/log.ts";
import { BASE_URL, startServer } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { clientOf, FORMS, linkOf, open, OPENS } from "./approving.ts";

/** The arguments of every run that began. */
let ran: Json[] = [];

const TOOLS = {
  tools: [tool({
    name: "wipe",
    input: z.object({ name: z.string() }),
    approval: { show: ({ name }) => ({ title: `Wipe ${name}` }) },
    run(input) {
      ran.push(input);
      return "wiped";
    },
  })],
};

async function start(): Promise<OAuthServer> {
  ran = [];
  return await startOAuthServer(TOOLS);
}

Deno.test("hostile words on the page are one line each, hide nothing and lead nowhere", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const name =
    "cat\u202e\u2066exe\u200b\n\n# Approve me [here](https://evil.example) <b>bold</b>\u3164\u{13441}\u{13442}\u{16fe4}\u{1d159}\u115f\uffa0\ufffc";
  const link = linkOf(await resultOf(call("wipe", { name })));
  const { page } = await open(server, link);
  assert.match(page.text, /Wipe cat exe # Approve me \[here\]/);
  assert.match(page.text, /&lt;b&gt;bold&lt;\/b&gt;/);
  assert.match(page.text, /cat\\u202e\\u2066exe\\u200b/);
  assert.match(
    page.text,
    /\\u3164\\ud80d\\udc41\\ud80d\\udc42\\ud81b\\udfe4\\ud834\\udd59\\u115f\\uffa0\\ufffc/,
  );
  assert.doesNotMatch(
    page.text,
    /[\u202a-\u202e\u2066-\u2069\u200b\u3164\ufffc\u{13441}\u{13442}\u{1d159}]/u,
  );
  assert.doesNotMatch(page.text, /href="https:\/\/evil/);
});

Deno.test("words from right to left, rows of spaces, a cut title and numbered facts turn nothing round and hide nothing", async () => {
  await using server = await startOAuthServer({
    tools: [tool({
      name: "pay",
      input: z.object({ from: z.string(), memo: z.string() }),
      approval: {
        show: ({ from, memo }) => ({
          title: `Pay ${memo} 5`,
          facts: { Amount: "5", 0: "x", Way: `${from} > 222` },
        }),
      },
      run: () => "paid",
    })],
  });
  const call = await clientOf(server, "2026");
  const from = "\u05c0 111";
  const memo = "\u05d0\u05d1 \u05d2   " + "c".repeat(250);
  const link = linkOf(await resultOf(call("pay", { from, memo })));
  const { page, words } = await open(server, link);
  const bar = "\u2068\u05c0\u2069 111";
  assert.ok(page.text.includes(`<bdi dir="ltr">${bar} &gt; 222</bdi>`));
  assert.ok(page.text.includes(`&quot;from&quot;: &quot;${bar}&quot;`));
  assert.ok(page.text.includes(
    "\u2068\u05d0\u05d1 \u05d2\u2069\\u0020\\u0020 ccc",
  ));
  assert.match(words, /cut at “…”/);
  assert.match(page.text, /<details open/);
  assert.match(words, /Amount 5 Way .* #0 x/);
});

Deno.test("an argument of any length leaves every fact on the page, and what is cut ends with …", async () => {
  await using server = await startOAuthServer({
    tools: [tool({
      name: "pay",
      input: z.object({
        memo: z.string(),
        more: z.record(z.string(), z.string()),
      }),
      approval: {
        show: ({ memo, more }) => ({
          title: `Pay ${memo}`,
          facts: { Memo: memo, ...more, To: "mallory", Cents: 999_999 },
        }),
      },
      run: () => "paid",
    })],
  });
  const call = await clientOf(server, "2026");
  const many = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`line ${at}`, "x".repeat(200)]),
  );
  const alike = Object.fromEntries(
    ["1", "2", "\u200b"].map((end) => [`${"n".repeat(99)}${end}`, `v${end}`]),
  );
  for (
    const [memo, more, seen] of [
      ["rent", {}, /Memo rent To mallory Cents 999999/],
      ["m".repeat(3000), {}, /Memo m{2000,}… To mallory Cents 999999/],
      ["\u200b".repeat(2001), {}, /Memo – To mallory Cents 999999/],
      ["m".repeat(2000), alike, /n{39}… v1 n{39}…… v2 n{39}……… v To mallory/],
      ["m", { ["k".repeat(3000)]: "v" }, /k{39}… v To mallory Cents 999999/],
      ["m", many, /line 28 x{40,}… … and 13 more facts/],
      [
        "m",
        Object.fromEntries(Object.entries(many).slice(0, 28)),
        /and 1 more fact /,
      ],
    ] as const
  ) {
    const link = linkOf(await resultOf(call("pay", { memo, more })));
    const { words } = await open(server, link);
    assert.match(words.split("Who asks")[0], seen);
    if (memo.length > 200) assert.match(words, /wants to: Pay( m{100,}…)? /);
    const isCut = words.split("Who asks")[0].includes("…");
    assert.equal(/cut at “…”\. .* need not have/.test(words), isCut);
  }
});

Deno.test("printArguments() gives deep arguments a page in proportion to them, and shows every row of spaces", () => {
  const list = Array.from({ length: 5000 }, (_, index) => index % 10);
  let deep: unknown = list;
  for (let depth = 0; depth < 190; depth++) deep = [deep];
  const { length } = JSON.stringify(deep);
  const text = printArguments(deep);
  assert.ok(text.length < 12 * length, `${text.length} of ${length}`);
  assert.deepEqual(JSON.parse(text), deep);
  const rows = { a: { "b  ": " c   d " } };
  assert.equal(
    printArguments(rows),
    `{\n  "a": {\n    "b\\u0020 ": " c\\u0020\\u0020 d "\n  }\n}`,
  );
});

Deno.test("a press needs the page's own form, of this session, and one of its answers", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("wipe", { name: "a" })));
  const path = new URL(link).pathname;
  const visitor = await open(server, link);
  const other = await AccountVisitor.signIn(server, { as: "666" });
  const send = (fields: Record<string, string>, from = visitor) =>
    from.browser.press(
      {
        ...visitor.page,
        text: `<form method="post" action="${path}">${
          Object.entries(fields).map(([name, value]) =>
            `<input type="hidden" name="${name}" value="${value}">`
          ).join("")
        }</form>`,
      },
      "",
      "",
    );
  const csrf = csrfOf(visitor.page);
  const statuses = [];
  for (
    const [fields, from] of [
      [{ answer: "approve" }],
      [{ answer: "approve", csrf: "x" }],
      [{ answer: "yes", csrf }],
      [{ answer: "toString", csrf }],
      [{ answer: "refuse", csrf, reason: "x".repeat(501) }],
      [{ answer: "approve", csrf }, other],
      [{ answer: "approve", csrf: csrfOf(other.page) }, other],
    ] as [Record<string, string>, AccountVisitor?][]
  ) {
    statuses.push((await send(fields, from)).status);
  }
  assert.deepEqual(statuses, [403, 403, 400, 400, 400, 403, 404]);
  linkOf(await resultOf(call("wipe", { name: "a" })));
  assert.deepEqual(ran, []);
});

Deno.test("callers who can sign in to no page are refused in words, and nothing runs", async () => {
  ran = [];
  const key = "x".repeat(40);
  for (
    const [env, headers] of [
      [{ AUTH_STRATEGY: "bearer", BEARER_TOKEN: key }, {
        authorization: `Bearer ${key}`,
      }],
      [{ AUTH_STRATEGY: "none" }, {}],
    ] as [Record<string, string>, Record<string, string>][]
  ) {
    const { log, events } = recordLog("warning");
    await using server = await startServer({ ...TOOLS, env, log });
    await server.app.start();
    for (let time = 0; time < 2; time++) {
      const { result } = await outcome(
        server.call("tools/call", { name: "wipe", arguments: { name: "a" } }, {
          headers,
          capabilities: OPENS,
        }),
      );
      assert.equal(result?.isError, true, BASE_URL);
      assert.match(result.content[0].text, /this caller cannot sign in/);
    }
    const told = events.map(({ message }) => message)
      .filter((message) => /approve calls/.test(message));
    assert.equal(told.length, 1, String(told));
    assert.match(told[0], /Use AUTH_STRATEGY=oauth/);
  }
  assert.deepEqual(ran, []);
});

Deno.test("an approval of a token that names no client counts for that token alone, and is never remembered", async () => {
  const issuer = "https://id.example.com/acme";
  await using keys = await keyServer();
  const paid: [string, number][] = [];
  const pay = tool({
    name: "pay",
    input: z.object({ cents: z.int() }),
    approval: {
      remember: () => ({ key: "k", label: "all", seconds: 3600 }),
    },
    run({ cents }, { caller }) {
      paid.push([caller.clientId ?? "unknown", cents]);
      return "paid";
    },
  });
  await using server = await startOAuthServer({
    tools: [pay],
    environment: {
      AUTH_STRATEGY: "oauth,jwt",
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: issuer,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: "tools",
      JWT_JWKS_URL: keys.url,
    },
  });
  const claims = { iss: issuer, aud: "tools", exp: now() + 3600, sub: "42" };
  const clientBy = async (claim: string, app: string) => {
    const token = await keys.sign({ ...claims, [claim]: app });
    const headers = { authorization: `Bearer ${token}` };
    return (cents: number) =>
      resultOf(server.call("tools/call", {
        name: "pay",
        arguments: { cents },
      }, { headers, capabilities: FORMS }));
  };
  const unknown = await clientBy("cid", "one");
  const other = await clientBy("cid", "two");
  const link = linkOf(await unknown(1));
  const visitor = await open(server, link);
  assert.doesNotMatch(visitor.words, /without asking/);
  await visitor.press(new URL(link).pathname, {
    answer: "approve",
    remember: "on",
  });
  for (const cents of [1, 2]) linkOf(await other(cents));
  assert.equal((await unknown(1)).content[0].text, "paid");
  linkOf(await unknown(2));
  const named = await clientBy("client_id", "desk");
  const page = linkOf(await named(1));
  assert.match((await open(server, page)).words, /without asking/);
  assert.deepEqual(paid, [["unknown", 1]]);
});
