/** @jsxImportSource @hono/hono/jsx */
import { Hono } from "@hono/hono";
import type { JSX } from "@hono/hono/jsx/jsx-runtime";
import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../src/core/oauth/lifetimes.ts";
import { createHash } from "node:crypto";
import type { OperatorInfo } from "../../../src/authoring/about.ts";
import {
  AccountPage,
  SignInPage,
} from "../../../src/features/account_page/account_page.tsx";
import { ConnectionsSection } from "../../../src/features/account_page/connections_section.tsx";
import { CallbackPage } from "../../../src/core/pages/callback_page.tsx";
import {
  ConsentPage,
  type ConsentProps,
} from "../../../src/core/pages/consent_page.tsx";
import { ErrorPage } from "../../../src/core/pages/error_page.tsx";
import { LandingPage } from "../../../src/features/landing/landing_page.tsx";
import { displayName, shownMessage } from "../../../src/core/pages/names.tsx";
import { escaped } from "../../../src/core/log/log_line.ts";
import { page, type PageOptions } from "../../../src/core/pages/respond.ts";
import { MayUse } from "../../../src/core/pages/scope_boxes.tsx";
import { scopesInWords } from "../../../src/core/pages/scopes.ts";
import { CallsSection } from "../../../src/features/ledger/calls_section.tsx";
import { TokenSection } from "../../../src/features/account_page/token_section.tsx";
import { clientCalled } from "../../kit/records.ts";

const HOSTILE = `"><script>alert(1)</script>'&`;

async function send(content: JSX.Element, options?: PageOptions) {
  const app = new Hono().get("/", (c) => page(c, content, options));
  const response = await app.request("/");
  return { response, html: await response.text() };
}

const CONSENT: ConsentProps = {
  lifetimes: DEFAULT_LIFETIMES,
  serverTitle: "Tool Server",
  client: clientCalled("Example Client"),
  host: "tools.example",
  redirectUri: "https://client.example/callback",
  providerName: "GitHub",
  tools: [],
  scopes: [{ scope: "mail:read", words: "Search mail" }],
  fields: { request: "r1", csrf: "c1" },
  action: "/authorize",
};

Deno.test("page() sends the headers that keep a page to itself", async () => {
  const { response, html } = await send(<ConsentPage {...CONSENT} />);
  const policy = response.headers.get("content-security-policy")!;
  assert.match(policy, /^default-src 'none'; /);
  assert.match(policy, /; frame-ancestors 'none'/);
  assert.match(policy, /; base-uri 'none'/);
  assert.match(policy, /; form-action 'none'$/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.match(response.headers.get("content-type")!, /^text\/html/);
  assert.match(html, /^<!doctype html><html lang="en">/);
});

Deno.test("page() leaves form-action out where a form leads elsewhere", async () => {
  const { response } = await send(<ConsentPage {...CONSENT} />, {
    forms: "any",
  });
  assert.doesNotMatch(
    response.headers.get("content-security-policy")!,
    /form-action/,
  );
});

Deno.test("page() allows exactly the inline texts it sends", async () => {
  const pages = [
    <LandingPage
      serverTitle="Tool Server"
      baseUrl="https://tools.example"
      tools={[]}
      access={{ kind: "open" }}
    />,
    <CallbackPage
      serverTitle="Tool Server"
      message={{ type: "oauth_callback", code: "c" }}
      origins={["https://tools.example"]}
    />,
  ];
  for (const content of pages) {
    const { response, html } = await send(content);
    const policy = response.headers.get("content-security-policy")!;
    const inline = [...html.matchAll(/<(style|script)>(.*?)<\/\1>/gs)];
    assert.equal(inline.length, 2);
    for (const [, , text] of inline) {
      const hash = createHash("sha256").update(text).digest("base64");
      assert.ok(policy.includes(`'sha256-${hash}'`));
    }
  }
});

Deno.test("pages escape everything a request or a registration brings", async () => {
  const pages = [
    <ConsentPage
      {...CONSENT}
      serverTitle={HOSTILE}
      client={clientCalled(HOSTILE, HOSTILE)}
      redirectUri={`x:${HOSTILE}`}
      providerName={HOSTILE}
      scopes={[{ scope: HOSTILE, words: HOSTILE }]}
      fields={{ [HOSTILE]: HOSTILE }}
    />,
    <ErrorPage
      serverTitle={HOSTILE}
      title={HOSTILE}
      happened={HOSTILE}
      move={HOSTILE}
      reference={HOSTILE}
    />,
    <CallbackPage
      serverTitle={HOSTILE}
      message={{
        type: "oauth_callback",
        error: HOSTILE,
        error_description: HOSTILE,
        state: HOSTILE,
      }}
      origins={["https://tools.example"]}
    />,
    <LandingPage
      serverTitle={HOSTILE}
      baseUrl="https://tools.example"
      tools={[{
        name: HOSTILE,
        title: HOSTILE,
        description: HOSTILE,
        scopes: [HOSTILE],
      }]}
      access={{ kind: "credential", header: HOSTILE, example: HOSTILE }}
      notice={HOSTILE}
    />,
  ];
  for (const content of pages) {
    const { html } = await send(content);
    assert.doesNotMatch(html, /<script>alert/);
    assert.doesNotMatch(html, /alert\(1\)<\/script>/);
  }
});

Deno.test("ConsentPage is one form with its fields and two decisions", async () => {
  const { html } = await send(<ConsentPage {...CONSENT} />);
  assert.equal(html.match(/<form /g)?.length, 1);
  assert.match(html, /<form method="post" action="\/authorize">/);
  assert.match(html, /<input type="hidden" name="request" value="r1"/);
  assert.match(html, /<input type="hidden" name="csrf" value="c1"/);
  assert.match(html, /name="decision" value="approve"/);
  assert.match(html, /name="decision" value="deny"/);
  assert.doesNotMatch(html, /data-tick/);
});

Deno.test("ConsentPage speaks of boxes only where it has some", async () => {
  const mail = { scope: "mail:read", words: "Read your mail" };
  const mailSend = { scope: "mail:send", words: "Send your mail" };
  const stay = { scope: "offline_access", words: "Stay.", isFixed: true };
  const asked: [typeof CONSENT.scopes, number][] = [
    [[], 0],
    [[stay], 0],
    [[mail, stay], 1],
    [[mail, mailSend], 2],
  ];
  for (const [scopes, boxes] of asked) {
    const page = <ConsentPage {...CONSENT} scopes={scopes} />;
    const { html } = await send(page);
    assert.equal(html.match(/type="checkbox"/g)?.length ?? 0, boxes);
    assert.equal(html.includes("Untick"), boxes > 0);
    assert.equal(html.includes('name="boxes"'), boxes > 0);
    assert.equal(html.includes("data-tick="), boxes > 1);
  }
});

/** The text of a page, without its tags. */
function textOf(html: string): string {
  return html.replaceAll(/<style>.*?<\/style>|<[^>]*>/gs, "")
    .replaceAll(/\s+/g, " ");
}

Deno.test("ConsentPage names the tools first, and those that need no permission again", async () => {
  const shown = async (count: number, free: number, scopes = CONSENT.scopes) =>
    textOf(
      (await send(
        <ConsentPage
          {...CONSENT}
          scopes={scopes}
          tools={Array.from({ length: count }, (_, n) => ({
            tool: `tool_${n}`,
            toolTitle: n === 1 ? undefined : `Tool ${n}`,
            needsScope: n >= free,
          }))}
        />,
      )).html,
    );
  const lead = "In your name at tools.example it could use: ";
  const one = await shown(1, 0);
  assert(one.includes(`${lead}Tool 0. Approve only if`), one);
  assert(!one.includes("no permission"));
  const four = await shown(4, 2);
  assert(four.includes(`${lead}Tool 0, tool_1, Tool 2 and Tool 3. Approve`));
  assert(
    four.includes("Whatever you choose, it may also use Tool 0 and tool_1."),
  );
  assert(!four.includes("All 4 tools"));
  const six = await shown(6, 6, []);
  assert(six.includes(`${lead}Tool 0, tool_1, Tool 2, Tool 3 and 2 more. `));
  assert.match(six, /yourself\. ?All 6 tools(Tool \d|tool_1){6}Who asks/);
  assert(
    six.includes("Use the tools named above. There is nothing to choose."),
  );
  assert((await shown(1, 0, [])).includes("Use what needs no permission."));
  const none = await shown(0, 0);
  assert(none.includes("It would act in your name at tools.example. Approve"));
  const most = await shown(102, 0);
  assert(most.includes("All 102 tools"));
  assert.match(most, /Tool 99and 2 moreWho asks/);
});

Deno.test("ConsentPage shows titles and words of scopes in no other direction, and bounded", async () => {
  const titles = [
    HOSTILE,
    "Pay\u202e”, says the server: ✅ harmless “",
    "x".repeat(1000),
    "\u200b\u2066",
  ];
  const { html } = await send(
    <ConsentPage
      {...CONSENT}
      scopes={[{
        scope: "pay",
        words: `Pays\u202e${"y".repeat(1000)}`,
        opens: titles,
      }]}
      tools={titles.map((toolTitle) => ({
        tool: "pay",
        toolTitle,
        needsScope: true,
      }))}
    />,
  );
  assert.doesNotMatch(
    html,
    /<script>alert|\u202e|\u2066|\u200b|✅|x{80}|y{301}/,
  );
  assert.match(html, /<bdi>Pay &#39;, says the server: harmless &#39;<\/bdi>/);
  assert.match(html, /<strong><bdi>pay<\/bdi><\/strong>/);
  const { html: account } = await send(
    <MayUse
      scopes={[{ scope: "pay", words: `Pays\u202e${"y".repeat(999)}` }]}
    />,
  );
  assert.doesNotMatch(account, /\u202e|y{301}/);
  assert.match(account, /<bdi>Pays/);
});

Deno.test("ConsentPage says where, for how long, and quotes the name", async () => {
  const { html } = await send(<ConsentPage {...CONSENT} />);
  const text = html.replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ");
  assert.match(text, /Let an app calling itself “Example Client” use Tool/);
  assert.match(text, /in your name at tools\.example\./);
  assert.match(text, /For 90 days at most, or until .* used for 30 days/);
});

Deno.test("ConsentPage names all providers of which the app gets no token", async () => {
  const { html } = await send(
    <ConsentPage {...CONSENT} providerName="Google or GitHub" />,
  );
  assert.match(html, /password nor a token from Google or GitHub\./);
});

Deno.test("ConsentPage tells a name that no one checked from a verified domain", async () => {
  const unverified = await send(<ConsentPage {...CONSENT} />);
  assert.match(unverified.html, /Unverified/);
  assert.doesNotMatch(unverified.html, /Domain verified/);
  const verified = await send(
    <ConsentPage
      {...CONSENT}
      client={clientCalled("Example Client", "client.example")}
    />,
  );
  assert.match(verified.html, /client\.example<\/strong>[^]*Domain verified/);
  assert.doesNotMatch(verified.html, /Unverified/);
});

Deno.test("ConsentPage does not vouch for a program on this device", async () => {
  const { html } = await send(
    <ConsentPage
      {...CONSENT}
      client={clientCalled("Example Client", "client.example")}
      redirectUri="http://127.0.0.1:33418/"
    />,
  );
  assert.match(html, /A program on this device/);
  assert.match(html, /cannot be checked from here, whatever the domain/);
});

Deno.test("CallbackPage carries the message and shows no parameter of the request", async () => {
  const { html } = await send(
    <CallbackPage
      serverTitle="Tool Server"
      message={{
        type: "oauth_callback",
        error: "access_denied",
        error_description: "call this number",
        state: "s",
      }}
      origins={["https://tools.example"]}
    />,
  );
  const shown = html.replaceAll(/<[^>]*>/g, "");
  assert.doesNotMatch(shown, /call this number|access_denied/);
  assert.match(shown, /Access was denied/);
  assert.match(html, /data-origins="\[&quot;https:\/\/tools\.example&quot;\]"/);
  assert.match(html, /call this number/);
});

Deno.test("every page says who runs the server, and links to its policies", async () => {
  const about: OperatorInfo = {
    operator: "Example Company",
    websiteUrl: "https://example.com/",
    privacyUrl: "https://example.com/privacy",
    termsUrl: "https://example.com/terms",
    supportUrl: "mailto:help@example.com",
  };
  const props = { serverTitle: "Tool Server", about };
  const pages = [
    <ConsentPage {...CONSENT} about={about} />,
    <ErrorPage {...props} title="t" happened="h" move="m" />,
    <CallbackPage {...props} origins={[]} />,
    <SignInPage
      {...props}
      title="Your account"
      lead="Sign in."
      options={[{ name: "GitHub" }]}
    />,
    <AccountPage
      {...props}
      title="Your data"
      part="data"
      parts={[]}
      person="octocat"
      providerName="GitHub"
      csrf="c"
    />,
    <LandingPage
      {...props}
      baseUrl="https://tools.example"
      tools={[]}
      access={{ kind: "open" }}
    />,
  ];
  for (const content of pages) {
    const { html } = await send(content);
    assert.match(html, /Run by <bdi>Example Company<\/bdi>/);
    for (const url of Object.values(about).slice(1)) {
      assert.ok(html.includes(`href="${url}"`), url);
    }
  }
});

Deno.test("LandingPage says the address once, and folds long lists of tools", async () => {
  const { html } = await send(
    <LandingPage
      serverTitle="Tool Server"
      baseUrl="https://tools.example"
      tools={Array.from({ length: 9 }, (_, index) => ({ name: `t${index}` }))}
      access={{ kind: "open" }}
    />,
  );
  const lines = [...html.matchAll(/<code>([^<]*)<\/code>/g)].map(([, it]) =>
    it
  );
  assert.equal(
    lines.filter((it) => it === "https://tools.example/mcp").length,
    1,
  );
  assert.match(html, /<details><summary>3 more tools<\/summary>/);
  assert.match(html, /Node 22\.19 or later/);
});

Deno.test("LandingPage says how to connect before it lists the tools", async () => {
  const { html } = await send(
    <LandingPage
      serverTitle="Tool Server"
      baseUrl="https://tools.example"
      tools={[{ name: "search_mail" }]}
      access={{ kind: "sign-in" }}
    />,
  );
  const [address, guide, tool] = ["/mcp<", "claude mcp add", "search_mail"]
    .map((text) => html.indexOf(text));
  assert.ok(0 < address && address < guide && guide < tool);
});

Deno.test("AccountPage has the parts that a person sees, and says which one it is", async () => {
  const { html } = await send(
    <AccountPage
      base="/tools"
      serverTitle="Tool Server"
      title="Everyone’s connections"
      part="people"
      parts={[
        { name: "", label: "Connections" },
        { name: "people", label: "People", isForOperators: true },
      ]}
      person="octocat"
      providerName="GitHub"
      csrf="c"
    />,
  );
  const [, nav] = /<nav[^>]*aria-label="Your account">(.*)<\/nav>/.exec(html)!;
  assert.match(nav, /<a href="\/tools\/account">Connections<\/a>/);
  assert.match(
    nav,
    /aria-label="For operators"><li><a href="\/tools\/account\/people" aria-current="page">People</,
  );
  assert.match(html, /<title>Everyone’s connections ·/);
});

Deno.test("ConnectionsSection tells clients of one name apart by where answers go", async () => {
  const connection = { createdAt: 0, usedAt: 0, scopes: [], sessions: 0 };
  const uris = [
    "https://claude.ai/api/mcp/auth_callback",
    "http://localhost:3118/callback",
    "cursor://anysphere.cursor-mcp/oauth/callback",
  ];
  const { html } = await send(
    <ConnectionsSection
      lifetimes={DEFAULT_LIFETIMES}
      providerName="GitHub"
      clients={uris.map((redirectUri, index) => ({
        name: "Claude",
        signIns: [{ ...connection, id: `g${index}`, redirectUri }],
      }))}
      csrf="c"
      now={0}
    />,
  );
  const told = [...html.matchAll(/Connected to <strong>(.*?)<\/strong>/g)];
  assert.deepEqual(told.map(([, words]) => words), [
    "claude.ai",
    "a program on the device, at localhost:3118",
    "the app that opens cursor: links",
  ]);
});

Deno.test("ConnectionsSection folds the sign-ins of a client beyond the newest three", async () => {
  const told = async (count: number) => {
    const signIns = Array.from({ length: count }, (_, n) => ({
      id: `g${n}`,
      createdAt: 0,
      usedAt: 0,
      scopes: [],
      sessions: n + 1,
    }));
    const { html } = await send(
      <ConnectionsSection
        lifetimes={DEFAULT_LIFETIMES}
        providerName="GitHub"
        clients={[{ name: "Claude", signIns }]}
        csrf="c"
        now={0}
      />,
    );
    const [, folded = ""] = html.split(/<summary>Older sign-ins \(\d+\)/);
    return [html, folded].map((it) => it.match(/open session/g)?.length ?? 0);
  };
  assert.deepEqual(await told(3), [3, 0]);
  assert.deepEqual(await told(24), [24, 21]);
});

/** Scopes whose author ends no words with a full stop. */
const BARE_WORDS = ["Read", "Send", "Delete", "Move", "Find", "Sort", "File"]
  .concat("Count")
  .map((verb) => ({
    scope: `mail:${verb.toLowerCase()}`,
    words: `${verb} your mail`,
  }));

Deno.test("what scopes mean never runs together, on the consent page and in the account", async () => {
  const { html } = await send(<ConsentPage {...CONSENT} scopes={BARE_WORDS} />);
  assert.match(html, /Read your mail\. Send your mail\. Delete your mail\./);
  const { html: account } = await send(<MayUse scopes={BARE_WORDS} />);
  assert.match(
    account,
    /<li><bdi>Read your mail<\/bdi> <code>mail:read<\/code><\/li><li><bdi>Send your mail/,
  );
  assert.match(account, /<li>and 2 more<\/li>/);
});

Deno.test("TokenSection groups many scopes as the consent page does", async () => {
  const { html } = await send(
    <TokenSection
      tokens={[]}
      scopes={BARE_WORDS}
      isBare={false}
      mayMake
      isFresh
      days={[7]}
      csrf="c"
      now={0}
    />,
  );
  assert.match(
    html,
    /<details class="group"[^>]*><summary>mail<span[^>]*>0 of 8</,
  );
  assert.match(html, /name="scope\.mail:read" value="on"/);
});

Deno.test("CallsSection calls an outcome the same in its filter and in its badge", async () => {
  const outcomes = [
    "ok",
    "tool_error",
    "internal_error",
    "refused",
    "cancelled",
    "stopped",
    "input_required",
  ] as const;
  const { html } = await send(
    <CallsSection
      calls={outcomes.map((outcome) => ({
        at: 0,
        tool: "t",
        count: 1,
        person: "p",
        client: "c",
        outcome,
      }))}
      filter={{ outcome: "refused" }}
      now={0}
    />,
  );
  const badges = [...html.matchAll(/class="badge[^"]*">([^<]*)</g)];
  const options = [...html.matchAll(/<option value="([^"]+)"[^>]*>([^<]*)</g)];
  assert.deepEqual(
    options.map(([, outcome, words]) => [outcome, words]),
    outcomes.map((outcome, index) => [outcome, badges[index][1]]),
  );
  assert.match(html, /<option value="refused" selected/);
});

Deno.test("Unverified and Paused do not look the same", async () => {
  const { html } = await send(
    <ConnectionsSection
      lifetimes={DEFAULT_LIFETIMES}
      providerName="GitHub"
      clients={[{
        name: "Claude",
        signIns: [{
          id: "g",
          createdAt: 0,
          usedAt: 0,
          pausedAt: 0,
          scopes: [],
          sessions: 0,
        }],
      }]}
      csrf="c"
      now={0}
    />,
  );
  const lookOf = (words: string) =>
    new RegExp(`class="(badge[^"]*)">${words}<`).exec(html)![1];
  assert.notEqual(lookOf("Unverified"), lookOf("Paused"));
});

Deno.test("LandingPage leads with the operator's description", async () => {
  const { html } = await send(
    <LandingPage
      serverTitle="Tool Server"
      baseUrl="https://tools.example"
      about={{ description: "Tools for the mail of our people." }}
      tools={[]}
      access={{ kind: "open" }}
    />,
  );
  const leads = [...html.matchAll(/class="lead">([^<]*)</g)];
  assert.deepEqual(leads.map(([, words]) => words), [
    "Tools for the mail of our people.",
  ]);
});

Deno.test("displayName() keeps joiners that a script or an emoji needs, and no others", () => {
  const family = "👩\u200d👩\u200d👧";
  const flag = "🏳️\u200d🌈";
  const persian = "می\u200cخواهم";
  const indic = "क्\u200dष";
  for (const name of [family, flag, persian, indic]) {
    assert.equal(displayName(name), name);
  }
  assert.equal(displayName("Clau\u200dde"), "Clau de");
  assert.equal(displayName(`a${"\u0301".repeat(50)}b`).length, 6);
  assert.equal(displayName(family.repeat(90)), `${family.repeat(79)}…`);
});

Deno.test("displayName() leaves nothing that reorders, hides or overflows", () => {
  assert.equal(displayName(" a\n\tb\u202egnp.exe\u200b "), "a b gnp.exe");
  assert.equal(displayName("\u2066\u0000"), "An app without a name");
  assert.equal([...displayName("😀".repeat(200))].length, 80);
});

const BLANKS =
  "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200e\u2060\u2064\u206a\u2800\u3000\u3164\ufe00\ufeff\uffa0\ufff0\ufffc\u{13441}\u{16fe4}\u{1bca0}\u{1d159}\u{1d173}\u{e0041}\u{e0100}\u{e0fff}";

Deno.test("displayName() and shownMessage() take every letter without ink for white space", () => {
  for (const blank of BLANKS) {
    const code = blank.codePointAt(0)!.toString(16);
    assert.equal(displayName(`Cl${blank}${blank}aude`), "Cl aude", code);
    assert.equal(displayName(blank.repeat(3)), "An app without a name", code);
    assert.equal(displayName(`Claude${blank}`), "Claude", code);
  }
  for (
    const blank of ["\u3164", "\u2800", "\ufffc", "\u{e0041}", "\u{1d159}"]
  ) {
    assert.equal(shownMessage(`Pay 5${blank}000`), "Pay 5 000");
    assert.doesNotMatch(escaped(`ada${blank}`), new RegExp(blank, "u"));
  }
  assert.equal(shownMessage("one\n \n\u2800\n\n\ntwo"), "one\n\ntwo");
  // Emoji keep their colours, scripts their shapes.
  for (const text of ["❤️ 1️⃣", "می\u200cخواهم"]) {
    assert.equal(displayName(text), text);
    assert.equal(shownMessage(text), text);
  }
  assert.equal(displayName("1\ufe0f a\ufe0f"), "1 a");
});

Deno.test("displayName() lets no name leave its quotation marks, or vouch for itself", () => {
  assert.equal(
    displayName('Claude” use “Mail”? ✅ Verified by "GitHub" ✔️'),
    "Claude' use 'Mail'? Verified by 'GitHub'",
  );
  for (const mark of '"“”„‟«»‹›「」『』〝〞〟＂❝❞❟❠❮❯⹂🙶״″‴‶⁗ʺ˝ˮ˶〃✓✔✅☑🔒🛡') {
    assert.doesNotMatch(displayName(`a${mark}b`), new RegExp(mark, "u"), mark);
  }
  for (const two of ["''", "’’", "‘’", "′′", "``", "´´", "ʼʼ", "'\u200b’"]) {
    assert.match(displayName(`a${two}b`), /^a' ?[’]?b$/, two);
  }
  assert.equal(displayName("Claude \u030b\u030e use"), "Claude use");
  assert.equal(displayName("Ada’s app"), "Ada’s app");
});

Deno.test("scopesInWords() says what each scope is for, in a sentence of each tool", () => {
  const uses = new Map([[
    "mail:read",
    ["Finds mail. Takes Gmail's search syntax.", "Read v1.2 mail", "A\nB"]
      .map((words, n) => ({ title: `T${n}`, words, scopes: ["mail:read"] })),
  ]]);
  const opens = ["T0", "T1", "T2"];
  const scopes = ["mail:read", "email", "x", "offline_access"];
  assert.deepEqual(scopesInWords(scopes, { uses }), [
    { scope: "mail:read", words: "Finds mail. Read v1.2 mail. A.", opens },
    { scope: "email", words: "See your e-mail address." },
    { scope: "x", words: "Nothing that this server's tools need." },
    {
      scope: "offline_access",
      words: "Stay connected while you are away.",
      isFixed: true,
    },
  ]);
  const words = new Map([["mail:read", "Read your mail"]]);
  assert.deepEqual(scopesInWords(["mail:read"], { uses, words }), [
    { scope: "mail:read", words: "Read your mail", opens },
  ]);
});

Deno.test("scopesInWords() says nothing of what needs another scope too", () => {
  const find = { title: "find", words: "Finds mail.", scopes: ["read"] };
  const forward = {
    title: "forward",
    words: "Forwards mail.",
    scopes: ["read", "send"],
  };
  const uses = new Map([["read", [find, forward]], ["send", [forward]]]);
  const wordsFor = (...scopes: string[]) =>
    scopesInWords(scopes, { uses }).map(({ words }) => words);
  assert.deepEqual(wordsFor("read"), ["Finds mail."]);
  assert.deepEqual(wordsFor("send"), ["Nothing without further permissions."]);
  assert.deepEqual(wordsFor("read", "send"), [
    "Finds mail. Forwards mail.",
    "Forwards mail.",
  ]);
});
