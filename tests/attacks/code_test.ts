/** Stolen codes. */
import assert from "node:assert/strict";
import { codeChallenge } from "../../src/core/oauth/pkce.ts";
import { CODE_TTL_SECONDS } from "../../src/core/oauth/lifetimes.ts";
import { FakeTime } from "../kit/fake_time.ts";
import {
  attacks,
  oauthRefusal,
  startTarget,
  type Target,
} from "../kit/target.ts";
import type { Client } from "../kit/client.ts";

async function assertOpens(client: Client, code: string): Promise<void> {
  const { status, body } = await client.redeem(code);
  assert.equal(status, 200, JSON.stringify(body));
}

/** A code that was intercepted, and its thief's attempt. */
function stolen(
  attempt: (target: Target, owner: Client, code: string) => Promise<string>,
  refusal = "400 invalid_grant",
) {
  return async (target: Target) => {
    const owner = await target.register();
    const code = await owner.signIn();
    assert.equal(await attempt(target, owner, code), refusal);
    // The attempt failed, and the code still works for its owner.
    await assertOpens(owner, code);
  };
}

async function redeemed(client: Client, code: string, changes = {}) {
  const { status, body } = await client.redeem(code, changes);
  return `${status} ${body.error}`;
}

attacks("an intercepted code opens nothing", {
  "without its verifier": stolen(
    (_, owner, code) => redeemed(owner, code, { code_verifier: "" }),
    "400 invalid_request",
  ),
  "with its challenge for a verifier": stolen((_, owner, code) =>
    redeemed(owner, code, { code_verifier: codeChallenge(owner.verifier) })
  ),
  "with a verifier that is too short": stolen((_, owner, code) =>
    redeemed(owner, code, { code_verifier: "a" })
  ),
  "through another client": stolen(async (target, owner, code) => {
    const thief = await target.register();
    return await redeemed(thief, code, { code_verifier: owner.verifier });
  }),
  "as a refresh token": stolen(async (_, owner, code) => {
    const { status, body } = await owner.refresh(code);
    return `${status} ${body.error}`;
  }),
  "with a letter changed": stolen((_, owner, code) =>
    redeemed(owner, code.slice(0, -1) + (code.endsWith("A") ? "B" : "A"))
  ),
  "by GET, where it would be in a log": stolen(async (target, owner, code) => {
    const query = new URLSearchParams({
      grant_type: "authorization_code",
      client_id: owner.clientId,
      code,
      code_verifier: owner.verifier,
    });
    return String((await target.ask(`/token?${query}`)).status);
  }, "405"),
});

attacks("a code is good once", {
  "and its second use ends what the first opened": async (target) => {
    using time = new FakeTime();
    const client = await target.register();
    const code = await client.signIn();
    const { body } = await client.redeem(code);
    assert.equal(await redeemed(client, code), "400 invalid_grant");
    time.tick(1);
    const auth = { authorization: `Bearer ${body.access_token}` };
    const called = await target.call("tools/call", { name: "whoami" }, auth);
    assert.equal(called.status, 401);
    const { body: refreshed } = await client.refresh(body.refresh_token);
    assert.equal(refreshed.error, "invalid_grant");
  },
  "and not used by a stranger's replay": async (target) => {
    const client = await target.register();
    const code = await client.signIn();
    const { body } = await client.redeem(code);
    await redeemed(await target.register(), code, {
      code_verifier: client.verifier,
    });
    const { status } = await client.refresh(body.refresh_token);
    assert.equal(status, 200);
  },
  "for a minute": async () => {
    using time = new FakeTime();
    await using target = await startTarget();
    const client = await target.register();
    const code = await client.signIn();
    time.tick(CODE_TTL_SECONDS);
    assert.equal(await redeemed(client, code), "400 invalid_grant");
  },
});

/** Attempts a downgrade at /authorize. */
function downgrade(changes: Record<string, string>) {
  return async (target: Target) => {
    const client = await target.register();
    const url = new URL(client.authorizationUrl());
    for (const [name, value] of Object.entries(changes)) {
      if (value === "") url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    const page = await target.ask(url.pathname + url.search);
    assert.equal(oauthRefusal(page), "400 invalid_request");
  };
}

attacks("PKCE cannot be left out or weakened", {
  "by no challenge": downgrade({ code_challenge: "" }),
  "by no method, which means plain": downgrade({ code_challenge_method: "" }),
  "by plain": downgrade({ code_challenge_method: "plain" }),
  "by s256 in small letters": downgrade({ code_challenge_method: "s256" }),
  "by S512": downgrade({ code_challenge_method: "S512" }),
  "by a challenge of one letter": downgrade({ code_challenge: "a" }),
  "by a challenge that is too long": downgrade({
    code_challenge: "a".repeat(44),
  }),
  "by a challenge that is no base64url": downgrade({
    code_challenge: "+".repeat(43),
  }),
  "by a confidential client": async (target) => {
    const client = await target.register({
      token_endpoint_auth_method: "client_secret_post",
    });
    const url = new URL(client.authorizationUrl());
    url.searchParams.delete("code_challenge");
    const page = await target.ask(url.pathname + url.search);
    assert.equal(oauthRefusal(page), "400 invalid_request");
  },
});

attacks("servers cannot be mixed up", {
  "for Host does not decide what this server is called": async (target) => {
    for (
      const name of ["oauth-authorization-server", "oauth-protected-resource"]
    ) {
      const { text } = await target.raw([
        `GET /.well-known/${name} HTTP/1.1`,
        "Host: localhost:1",
        "X-Forwarded-Host: evil.example",
        "Forwarded: host=evil.example",
        "Connection: close",
      ]);
      assert.doesNotMatch(text, /evil|localhost/);
    }
  },
  "for a grant of one origin is none of another's": async () => {
    using kv = await Deno.openKv(":memory:");

    await using here = await startTarget({ kv });
    const { auth } = await here.person("jo");
    await using there = await startTarget({
      kv,
      baseUrl: "http://127.0.0.1:4000",
    });
    const { status } = await there.call("tools/call", { name: "whoami" }, auth);
    assert.equal(status, 401);
  },
});

attacks("a code leaks nowhere on its way", {
  "in a cache or a referrer": async (target) => {
    const client = await target.register();
    const browser = target.browser();
    const page = await browser.open(client.authorizationUrl());
    // The redirect itself carries the code, so its raw headers are examined.
    let headers: Headers | undefined;
    const fetched = target.fetch.bind(target);
    target.fetch = async (path, init) => {
      const response = await fetched(path, init);
      if (path.startsWith("/oauth/provider-callback")) {
        headers = response.headers;
      }
      return response;
    };
    try {
      client.codeFrom(await browser.press(page, "decision", "approve"));
    } finally {
      target.fetch = fetched;
    }
    assert.match(headers!.get("location")!, /code=/);
    assert.equal(headers!.get("cache-control"), "no-store");
    assert.equal(headers!.get("referrer-policy"), "no-referrer");
  },
  "with the form that was sent before": async (target) => {
    const client = await target.register();
    const page = await target.browser().open(client.authorizationUrl());
    assert.equal(page.headers.get("cache-control"), "no-store");
    assert.equal(page.headers.get("referrer-policy"), "same-origin");
  },
});
