/** @jsxImportSource @hono/hono/jsx */
import { Hono } from "@hono/hono";
import type { JSX } from "@hono/hono/jsx/jsx-runtime";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { CallbackPage } from "../../src/pages/callback_page.tsx";
import {
  ConsentPage,
  type ConsentProps,
} from "../../src/pages/consent_page.tsx";
import { ErrorPage } from "../../src/pages/error_page.tsx";
import { LandingPage } from "../../src/pages/landing_page.tsx";
import { displayName } from "../../src/pages/layout.tsx";
import { page, type PageOptions } from "../../src/pages/respond.ts";
import { scopesInWords } from "../../src/pages/scope_words.ts";

const HOSTILE = `"><script>alert(1)</script>'&`;

async function send(content: JSX.Element, options?: PageOptions) {
  const app = new Hono().get("/", (c) => page(c, content, options));
  const response = await app.request("/");
  return { response, html: await response.text() };
}

const CONSENT: ConsentProps = {
  serverTitle: "Tool Server",
  clientName: "Example Client",
  clientVerification: { kind: "self-asserted" },
  redirectUri: "https://client.example/callback",
  redirectKind: "https",
  providerName: "GitHub",
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
      entry={{ kind: "open" }}
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
      clientName={HOSTILE}
      clientVerification={{ kind: "document", domain: HOSTILE }}
      redirectUri={`x:${HOSTILE}`}
      redirectKind="private-use"
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
      entry={{ kind: "credential", header: HOSTILE, example: HOSTILE }}
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
  assert.doesNotMatch(html, /<script/);
});

Deno.test("ConsentPage tells a name that nobody checked from a verified domain", async () => {
  const unverified = await send(<ConsentPage {...CONSENT} />);
  assert.match(unverified.html, /Unverified/);
  assert.doesNotMatch(unverified.html, /Domain verified/);
  const verified = await send(
    <ConsentPage
      {...CONSENT}
      clientVerification={{ kind: "document", domain: "client.example" }}
    />,
  );
  assert.match(verified.html, /client\.example<\/strong>[^]*Domain verified/);
  assert.doesNotMatch(verified.html, /Unverified/);
});

Deno.test("ConsentPage does not vouch for a program on this device", async () => {
  const { html } = await send(
    <ConsentPage
      {...CONSENT}
      clientVerification={{ kind: "document", domain: "client.example" }}
      redirectUri="http://127.0.0.1:33418/"
      redirectKind="loopback"
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

Deno.test("displayName() leaves nothing that reorders, hides or overflows", () => {
  assert.equal(displayName(" a\n\tb\u202egnp.exe\u200b "), "a b gnp.exe");
  assert.equal(displayName("\u2066\u0000"), "An app without a name");
  assert.equal([...displayName("😀".repeat(200))].length, 80);
});

Deno.test("scopesInWords() says what each scope is for, in a sentence of each tool", () => {
  const authorsWords = new Map([[
    "mail:read",
    ["Finds mail. Takes Gmail's search syntax.", "Read v1.2 mail", "A\nB"],
  ]]);
  assert.deepEqual(scopesInWords(["mail:read", "email", "x"], authorsWords), [
    { scope: "mail:read", words: "Finds mail. Read v1.2 mail. A." },
    { scope: "email", words: "See your e-mail address." },
    { scope: "x", words: "Nothing that this server's tools need." },
  ]);
});
