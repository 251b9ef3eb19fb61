/** Access and refresh tokens in the wrong hands, or in the wrong place. */
import assert from "node:assert/strict";
import { Events } from "../kit/answer.ts";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { DEFAULT_LIFETIMES } from "../../src/core/oauth/lifetimes.ts";
import { attacks, each, startTarget, type Target } from "../kit/target.ts";
import { RemoteServer } from "../kit/server.ts";
import type { Client } from "../kit/client.ts";

const WHOAMI = { name: "whoami" };

async function statusOf(target: Target, authorization: string) {
  return (await target.call("tools/call", WHOAMI, { authorization })).status;
}

async function refreshed(client: Client, token: string, changes = {}) {
  const { status, body } = await client.refresh(token, changes);
  return `${status} ${body.error}`;
}

attacks("a call needs a live access token, in its header", {
  ...each([
    "",
    "Bearer",
    "Bearer ",
    "Bearer x",
    "Bearer null",
    "Bearer undefined",
    "Basic bm9ib2R5Og==",
    "Bearer tsa_AAAAAAAAAAAAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    `Bearer ${"a".repeat(8000)}`,
  ], async (target, authorization) => {
    const answer = await target.call("tools/call", WHOAMI, { authorization });
    assert.equal(answer.status, 401);
    assert.match(answer.headers.get("www-authenticate")!, /^Bearer /);
  }),
  "not in the address": async (target) => {
    const { tokens } = await target.person("jo");
    const query = `access_token=${tokens.access_token}`;
    const answer = await target.json(`/mcp?${query}`, {});
    assert.equal(answer.status, 401);
  },
  "not in the body": async (target) => {
    const { tokens } = await target.person("jo");
    const { access_token } = tokens;
    const answer = await target.json("/mcp", { access_token });
    assert.equal(answer.status, 401);
  },
  "not in a cookie": async (target) => {
    const { tokens } = await target.person("jo");
    const cookie = `access_token=${tokens.access_token}`;
    assert.equal((await target.json("/mcp", {}, { cookie })).status, 401);
  },
  "not twice": async (target) => {
    const { auth } = await target.person("jo");
    const both = `${auth.authorization}, ${auth.authorization}`;
    assert.equal(await statusOf(target, both), 401);
  },
  "with every letter right": async (target) => {
    const { tokens } = await target.person("jo");
    const token: string = tokens.access_token;
    assert.equal(await statusOf(target, `Bearer ${token}`), 200);
    for (
      const wrong of [
        token.slice(0, -1),
        `${token}A`,
        token.toUpperCase(),
        token.replace("tsa_", "tsr_"),
        `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`,
      ]
    ) assert.equal(await statusOf(target, `Bearer ${wrong}`), 401, wrong);
  },
  "not a refresh token": async (target) => {
    const { tokens } = await target.person("jo");
    assert.equal(await statusOf(target, `Bearer ${tokens.refresh_token}`), 401);
  },
  "not the provider's own token": async (target) => {
    let provided = "";
    target.provider.onIssue = (token) => provided = token;
    await target.person("jo");
    assert.match(provided, /^provider-access/);
    assert.equal(await statusOf(target, `Bearer ${provided}`), 401);
  },
  "for DELETE and notifications too": async (target) => {
    const init = { method: "DELETE", headers: { "mcp-session-id": "x" } };
    assert.equal((await target.ask("/mcp", init)).status, 401);
    const note = { jsonrpc: "2.0", method: "notifications/initialized" };
    assert.equal((await target.json("/mcp", note)).status, 401);
  },
  "before anything is said about the message": async (target) => {
    const answer = { jsonrpc: "2.0", id: "x", result: {} };
    for (const body of ["{", "[]", answer, "x".repeat(5_000_000)]) {
      for (const headers of [undefined, { "mcp-session-id": "x" }]) {
        assert.equal((await target.json("/mcp", body, headers)).status, 401);
      }
    }
  },
  "for an hour": async () => {
    using time = new FakeTime();
    // Moves to the middle of a second.
    time.tick(1.5 - Date.now() % 1000 / 1000);
    await using target = await startTarget();
    const { auth } = await target.person("jo");
    // The cache of a token does not outlive the token.
    time.tick(DEFAULT_LIFETIMES.accessTokenSeconds - 1);
    assert.equal(await statusOf(target, auth.authorization), 200);
    time.tick(0.6);
    assert.equal(await statusOf(target, auth.authorization), 401);
  },
});

attacks("what was revoked is over within a second", {
  "by the refresh token": async (target) => {
    using time = new FakeTime();
    const { client, tokens, auth } = await target.person("jo");
    assert.equal(await statusOf(target, auth.authorization), 200);
    const { status } = await target.form("/revoke", {
      token: tokens.refresh_token,
      client_id: client.clientId,
    });
    assert.equal(status, 200);
    time.tick(1);
    assert.equal(await statusOf(target, auth.authorization), 401);
    const again = await refreshed(client, tokens.refresh_token);
    assert.equal(again, "400 invalid_grant");
  },
  "by the access token": async (target) => {
    using time = new FakeTime();
    const { client, tokens, auth } = await target.person("jo");
    await target.form("/revoke", {
      token: tokens.access_token,
      client_id: client.clientId,
    });
    time.tick(1);
    assert.equal(await statusOf(target, auth.authorization), 401);
    // Its grant goes on.
    const again = await refreshed(client, tokens.refresh_token);
    assert.equal(again, "200 undefined");
  },
  "with the streams that it opened": async (target) => {
    const { client, tokens, auth } = await target.person("jo");
    const response = await new RemoteServer(target.url, auth).call(
      "subscriptions/listen",
      { notifications: { toolsListChanged: true } },
    );
    assert.equal(response.status, 200);
    const events = new Events(response);
    await events.read();
    await target.form("/revoke", {
      token: tokens.refresh_token,
      client_id: client.clientId,
    });
    while (!(await events.next()).done);
  },
  "but not by another client": async (target) => {
    using time = new FakeTime();
    const { client, tokens, auth } = await target.person("jo");
    const thief = await target.register();
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const answer = await target.form("/revoke", {
        token,
        client_id: thief.clientId,
      });
      // A thief learns nothing from it either (RFC 7009 §2.2).
      assert.equal(answer.status, 200);
    }
    time.tick(1);
    assert.equal(await statusOf(target, auth.authorization), 200);
    const again = await refreshed(client, tokens.refresh_token);
    assert.equal(again, "200 undefined");
  },
});

attacks("a stolen refresh token opens nothing", {
  "through another client": async (target) => {
    const { client, tokens } = await target.person("jo");
    const thief = await target.register();
    const theirs = await refreshed(thief, tokens.refresh_token);
    assert.equal(theirs, "400 invalid_grant");
    const own = await refreshed(client, tokens.refresh_token);
    assert.equal(own, "200 undefined");
  },
  "by two uses, which end the grant for thief and owner": async () => {
    using time = new FakeTime();
    await using target = await startTarget();
    const { client, tokens } = await target.person("jo");
    const { body: first } = await client.refresh(tokens.refresh_token);
    const { body } = await client.refresh(first.refresh_token);
    const replayed = await refreshed(client, tokens.refresh_token);
    assert.equal(replayed, "400 invalid_grant");
    const own = await refreshed(client, body.refresh_token);
    assert.equal(own, "400 invalid_grant");
    time.tick(1);
    const status = await statusOf(target, `Bearer ${body.access_token}`);
    assert.equal(status, 401);
  },
  "forged for a grant whose name was in a log, which goes on": async () => {
    await using target = await startTarget();
    const { client, tokens } = await target.person("jo");
    const name = tokens.refresh_token.slice("tsr_".length, -44);
    const own = await target.person("eve");
    const { body } = await own.client.refresh(own.tokens.refresh_token);
    await own.client.refresh(body.refresh_token);
    for (
      const secret of [
        // Secrets of another grant's token, of a used token, and of another
        // kind.
        (await target.person("eve")).tokens.refresh_token.slice(-43),
        own.tokens.refresh_token.slice(-43),
        own.tokens.access_token.slice(-43),
        tokens.access_token.slice(-43),
        "A".repeat(43),
        "-".repeat(43),
        randomId(),
      ]
    ) {
      const forged = `tsr_${name}_${secret}`;
      assert.equal(await refreshed(client, forged), "400 invalid_grant");
      const { clientId: client_id } = client;
      await target.form("/revoke", { token: forged, client_id });
      await target.form("/revoke", { token: forged });
    }
    assert.equal(
      await refreshed(client, tokens.refresh_token),
      "200 undefined",
    );
  },
  "used and replayed by another client, which ends nothing": async () => {
    await using target = await startTarget();
    const { client, tokens } = await target.person("jo");
    const { body } = await client.refresh(tokens.refresh_token);
    const thief = await target.register();
    const theirs = await refreshed(thief, tokens.refresh_token);
    assert.equal(theirs, "400 invalid_grant");
    const answer = await target.form("/revoke", {
      token: tokens.refresh_token,
      client_id: thief.clientId,
    });
    assert.equal(answer.status, 200);
    assert.equal(await refreshed(client, body.refresh_token), "200 undefined");
  },
  "for more scopes than were granted": async (target) => {
    const client = await target.register();
    const { refresh_token } = await client.connect({ scope: "offline_access" });
    for (const scope of ["admin", "offline_access mail:delete"]) {
      const answer = await refreshed(client, refresh_token, { scope });
      assert.equal(answer, "400 invalid_scope");
    }
    assert.equal(await refreshed(client, refresh_token), "200 undefined");
  },
  "for another resource": async (target) => {
    const { client, tokens } = await target.person("jo");
    const answer = await refreshed(client, tokens.refresh_token, {
      resource: "https://evil.example/mcp",
    });
    assert.equal(answer, "400 invalid_target");
  },
  "after a month without use": async () => {
    using time = new FakeTime();
    await using target = await startTarget();
    const { client, tokens } = await target.person("jo");
    time.tick(DEFAULT_LIFETIMES.idleSeconds);
    const answer = await refreshed(client, tokens.refresh_token);
    assert.equal(answer, "400 invalid_grant");
  },
});

/** Gives a token of a person who approved fewer scopes than there are. */
async function poor(target: Target): Promise<{ authorization: string }> {
  const client = await target.register();
  const { refresh_token } = await client.connect({
    scope: "mail:read offline_access",
  });
  const { body } = await client.refresh(refresh_token, {
    scope: "offline_access",
  });
  return { authorization: `Bearer ${body.access_token}` };
}

/** Sends a request that needs a scope the caller does not have. */
function guarded(method: string, params: Record<string, unknown>) {
  return async (target: Target) => {
    const refused = await target.call(method, params, await poor(target));
    assert.equal(refused.status, 403, refused.text);
    const challenge = refused.headers.get("www-authenticate")!;
    assert.match(challenge, /insufficient_scope/);
    assert.match(challenge, /scope="[^"]*mail:read/);
    const { auth } = await target.person("jo", { scope: "mail:read" });
    assert.equal((await target.call(method, params, auth)).status, 200);
  };
}

attacks("a token opens what it was given for", {
  "not a tool behind another scope": guarded("tools/call", { name: "mail" }),
  "not a resource behind another scope": guarded("resources/read", {
    uri: "mail://1",
  }),
  "not the completion of that resource": guarded("completion/complete", {
    ref: { type: "ref/resource", uri: "mail://{id}" },
    argument: { name: "id", value: "" },
  }),
  "not in a session of 2025": async (target) => {
    const auth = await poor(target);
    const headers = { ...auth, "mcp-session-id": await target.session(auth) };
    const call = (method: string, params: unknown) =>
      target.json("/mcp", { jsonrpc: "2.0", id: 1, method, params }, headers);
    for (
      const answer of [
        await call("tools/call", { name: "mail", arguments: {} }),
        await call("resources/read", { uri: "mail://1" }),
      ]
    ) assert.equal(answer.status, 403, answer.text);
  },
  "not in a batch": async (target) => {
    const auth = await poor(target);
    const session = await target.session(auth, "2025-03-26");
    const answer = await target.json("/mcp", [{
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "mail", arguments: {} },
    }], { ...auth, "mcp-session-id": session });
    assert.doesNotMatch(answer.text, /You have mail/);
    assert.match(answer.text, /the answer tells how to sign in/);
  },
  "not by a header that names another tool": async (target) => {
    const answer = await target.call("tools/call", { name: "mail" }, {
      ...await poor(target),
      "mcp-name": "whoami",
    });
    assert.equal(answer.status, 400);
  },
});
