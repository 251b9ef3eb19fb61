/** Strangers' texts on pages and in the log. */
import assert from "node:assert/strict";
import type { LogEvent } from "../../src/core/log/log.ts";
import { recordLog } from "../kit/log.ts";
import { jsonLine, terminalLine } from "../../src/core/log/log_line.ts";
import { attacks, each, startTarget, type Target } from "../kit/target.ts";
import { BASE_URL } from "../kit/server.ts";

const MARKUP = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  "</title><script>alert(1)</script>",
  "<!--",
  "{{constructor.constructor('alert(1)')()}}",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "javascript:alert(1)",
];

/** Checks that a page has no tag, attribute or script besides its own. */
function assertHarmless(page: { text: string; headers: Headers }): void {
  assert(!/(href|src|action)="javascript:/.test(page.text));
  const tags = page.text.replaceAll(/="[^"]*"/g, "");
  for (const injected of [/<script>alert/, /<img/, /<[^>]*\son\w+=/]) {
    assert(!injected.test(tags), String(injected));
  }
  const policy = page.headers.get("content-security-policy")!;
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'sha256-/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(page.headers.get("x-content-type-options"), "nosniff");
}

const HTML = { headers: { accept: "text/html" } };

attacks(
  "markup in a client's name stays text",
  each(MARKUP, async (target, client_name) => {
    const client = await target.register({ client_name });
    const page = await target.browser().open(client.authorizationUrl());
    assert.equal(page.status, 200);
    assertHarmless(page);
  }),
);

attacks(
  "markup in a refused parameter stays text",
  each(MARKUP, async (target, text) => {
    const client = await target.register();
    for (const name of ["client_id", "redirect_uri", "scope", "resource"]) {
      const { search } = new URL(client.authorizationUrl({ [name]: text }));
      const page = await target.ask(`/authorize${search}`, HTML);
      assert.equal(page.status, 400, `${name} ${page.text}`);
      assertHarmless(page);
    }
  }),
);

attacks(
  "markup in an answer to our own callback page stays text",
  each(MARKUP, async (target, text) => {
    for (const name of ["code", "state", "error", "error_description"]) {
      const query = new URLSearchParams({ code: "x", state: "y" });
      if (name.startsWith("error")) {
        query.delete("code");
        query.set("error", "x");
      }
      query.set(name, text);
      const page = await target.ask(`/oauth/callback?${query}`, HTML);
      assertHarmless(page);
    }
  }),
);

attacks(
  "markup in a path stays text",
  each(MARKUP, async (target, text) => {
    const path = `/${encodeURIComponent(text)}`;
    const page = await target.ask(path, HTML);
    assert.equal(page.status, 404);
    assertHarmless(page);
  }),
);

attacks("a page is not used against the person who reads it", {
  "by a name that hides what follows": async (target) => {
    const client = await target.register({
      client_name: "Good\u202egp.exe\u2066\u200b",
    });
    const page = await target.browser().open(client.authorizationUrl());
    assert.doesNotMatch(page.text, /[\u202a-\u202e\u2066-\u2069\u200b]/);
  },
  "by a name as long as the page": async (target) => {
    const client = await target.register({ client_name: "W".repeat(200) });
    const page = await target.browser().open(client.authorizationUrl());
    assert.doesNotMatch(page.text, /W{81}/);
  },
  "by a name someone else has: where the answer goes is shown": async (
    target,
  ) => {
    const client = await target.register({
      client_name: "Claude",
      redirect_uris: ["https://evil.example/cb"],
    });
    const page = await target.browser().open(client.authorizationUrl());
    assert.match(page.text, /evil\.example/);
    assert.match(page.text, /not verified|unverified/i);
  },
  "by an account name of the provider's": async (target) => {
    target.provider.subject = "<script>alert(1)</script>";
    const browser = target.browser();
    const page = await browser.open(`${BASE_URL}/account`);
    assertHarmless(await browser.press(page, "", ""));
  },
});

/** Collects the log while an attack runs. */
async function logged(
  attack: (target: Target) => Promise<unknown>,
): Promise<LogEvent[]> {
  const { log, events } = recordLog("debug");
  await using target = await startTarget({ log });
  await attack(target);
  return events;
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/;

for (
  const [where, attack] of Object.entries({
    "a path": (target: Target) =>
      target.ask("/x%0aFORGED%1b%5b31m%e2%80%ae", HTML),
    "a client's name": async (target: Target) => {
      const client = await target.register({ client_name: "x\u202eFORGED=1" });
      await client.connect();
    },
    "an error of the provider's": async (target: Target) => {
      const client = await target.register();
      const browser = target.browser();
      const page = await browser.open(client.authorizationUrl());
      const handle = /name="request" value="([^"]+)"/.exec(page.text)![1];
      await browser.press(page, "decision", "approve");
      await browser.open(
        `${BASE_URL}/oauth/provider-callback?state=${handle}&error=a%0aFORGED`,
      );
    },
    "a tool's name": async (target: Target) => {
      const { auth } = await target.person("jo");
      const name = "x\n\u001b[31mFORGED";
      await target.call("tools/call", { name }, {
        ...auth,
        "mcp-name": `=?base64?${btoa(name)}?=`,
      });
    },
    "a method": async (target: Target) => {
      const { auth } = await target.person("jo");
      const method = "x\nFORGED";
      await target.call(method, {}, { ...auth, "mcp-method": "x" });
    },
  })
) {
  Deno.test(`${where} forges no line of the log`, async () => {
    for (const event of await logged(attack)) {
      assert.doesNotMatch(jsonLine(event), CONTROL);
      const [line, ...frames] = terminalLine(event).split("\n");
      assert.doesNotMatch(line, CONTROL);
      assert(!frames.some((frame) => frame.includes("FORGED")));
    }
  });
}

Deno.test("no secret is logged on the way to a call and back", async () => {
  const secrets: string[] = [];
  const events = await logged(async (target) => {
    target.provider.onIssue = (token) => secrets.push(token);
    const client = await target.register({
      token_endpoint_auth_method: "client_secret_post",
    });
    const code = await client.signIn();
    const { body } = await client.redeem(code);
    await client.redeem(code, { code_verifier: "wrong" });
    await client.refresh(body.refresh_token);
    const auth = { authorization: `Bearer ${body.access_token}` };
    await target.call("tools/call", { name: "whoami" }, auth);
    await target.form("/revoke", { token: body.refresh_token });
    const { clientSecret, state, verifier } = client;
    secrets.push(code, body.access_token, body.refresh_token);
    secrets.push(clientSecret!, state, verifier);
  });
  assert(events.length > 3);
  const log = events.map(jsonLine).join("\n");
  for (const secret of secrets) assert(!log.includes(secret), secret);
});
