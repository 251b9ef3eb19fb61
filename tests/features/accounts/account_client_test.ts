/** This server as a client of the services at which people have accounts. */
import assert from "node:assert/strict";
import { accountClient } from "../../../src/features/accounts/account_client.ts";
import { account } from "../../../src/authoring/oauth_account.ts";
import { accountFetch } from "../../../src/core/provider/account_fetch.ts";
import type { AccountPreset } from "../../../src/authoring/account_presets.ts";
import { type Answers, serveProvider } from "../../kit/served_provider.ts";
import { assertRefused } from "../../core/provider/refusal.ts";
import { serveOpenId, SIGN_IN } from "../../core/provider/fake_openid.ts";

const APPLICATION = { clientId: "our-app", clientSecret: "hush-hush" };
const { redirectUri } = SIGN_IN;
const REQUEST = { state: "s", nonce: "n", codeChallenge: "c", redirectUri };

/** A service that is known by name, as it answers by its documents. */
interface Known {
  answers: Answers;
  /** The query of the authorization request, besides ours. */
  query: Record<string, string>;
  /** True if it gives refresh tokens. */
  refreshes: boolean;
  /** The account's name, and its id where the service tells all of it. */
  name: string;
  id?: string;
  /** The fields, and the credentials, of a request for tokens. */
  asked: { authorization?: string; type: RegExp; body: RegExp };
  revoked: RegExp;
}

const BASIC = `Basic ${btoa("our-app:hush-hush")}`;
const FORM = /^application\/x-www-form-urlencoded/;
const TOKENS = {
  access_token: "access",
  token_type: "bearer",
  refresh_token: "refresh",
  expires_in: 60,
};

const KNOWN: Partial<Record<AccountPreset, Known>> = {
  github: {
    answers: {
      "POST https://github.com/login/oauth/access_token": () =>
        Response.json({ access_token: "access", token_type: "bearer" }),
      "GET https://api.github.com/user": () =>
        Response.json({ id: 7, login: "ada" }),
      "DELETE https://api.github.com/applications/our-app/token": () =>
        new Response(null, { status: 204 }),
    },
    query: { scope: "read write" },
    refreshes: false,
    name: "ada",
    id: "7",
    asked: { type: FORM, body: /client_secret=hush-hush/ },
    revoked: /"access_token":"access"/,
  },
  linear: {
    answers: {
      "POST https://api.linear.app/oauth/token": () => Response.json(TOKENS),
      "POST https://api.linear.app/graphql": () =>
        Response.json({
          data: {
            viewer: {
              id: "L1",
              email: "a@acme",
              organization: { id: "O1", name: "Acme" },
            },
          },
        }),
      "POST https://api.linear.app/oauth/revoke": () => new Response(),
    },
    query: { scope: "read,write", prompt: "consent" },
    refreshes: true,
    name: "a@acme at Acme",
    id: "L1 O1",
    asked: { type: FORM, body: /client_secret=hush-hush/ },
    revoked: /token=refresh&/,
  },
  notion: {
    answers: {
      "POST https://api.notion.com/v1/oauth/token": () =>
        Response.json({ ...TOKENS, expires_in: undefined }),
      "GET https://api.notion.com/v1/users/me": ({ headers }) =>
        Response.json({
          bot: {
            workspace_name: headers.get("notion-version") && "Acme",
            // Without the id of the workspace.
            owner: {
              type: "user",
              user: { id: "N1", person: { email: "a@acme" } },
            },
          },
        }),
      "POST https://api.notion.com/v1/oauth/revoke": () => Response.json({}),
    },
    query: { scope: "read write", owner: "user" },
    refreshes: true,
    name: "a@acme at Acme",
    asked: {
      authorization: BASIC,
      type: /^application\/json/,
      body: /"code":"the-code"/,
    },
    revoked: /"token":"access"/,
  },
  slack: {
    answers: {
      "POST https://slack.com/api/oauth.v2.user.access": () =>
        Response.json({
          ok: true,
          team: { id: "T1", name: "Acme" },
          authed_user: { id: "U1", ...TOKENS, token_type: "user" },
        }),
      "GET https://slack.com/api/auth.test": () =>
        Response.json({
          ok: true,
          user: "ada",
          user_id: "U1",
          team: "Acme",
          team_id: "T1",
        }),
      "POST https://slack.com/api/auth.revoke": () =>
        Response.json({ ok: true, revoked: true }),
    },
    query: { scope: "read write" },
    refreshes: true,
    name: "ada at Acme",
    id: "U1 T1",
    asked: { type: FORM, body: /client_secret=hush-hush/ },
    revoked: /token=access&/,
  },
};

for (const [name, known] of Object.entries(KNOWN)) {
  Deno.test(`${name} is asked, named and revoked as its documents say`, async () => {
    await using fake = serveProvider(() => known.answers);
    const service = account(name as AccountPreset, {
      scopes: ["read", "write"],
    });
    const client = accountClient(service, APPLICATION, fake.fetch);
    const url = await client.authorizationUrl(REQUEST);
    assert.equal(url.origin + url.pathname, service.authorize);
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      response_type: "code",
      client_id: "our-app",
      redirect_uri: redirectUri,
      state: "s",
      code_challenge: "c",
      code_challenge_method: "S256",
      ...known.query,
    });
    const { tokens } = await client.redeem(SIGN_IN);
    assert.equal(tokens.accessToken, "access");
    assert.equal(tokens.refreshToken, known.refreshes ? "refresh" : undefined);
    const [{ headers, body }] = fake.asked;
    assert.equal(
      headers.get("authorization"),
      known.asked.authorization ?? null,
    );
    assert.match(headers.get("content-type")!, known.asked.type);
    assert.match(body, known.asked.body);
    const bound = accountFetch(
      service,
      () => Promise.resolve(tokens.accessToken),
      {
        async send(request) {
          const { url, method, headers } = request;
          const body = method === "GET" ? undefined : await request.text();
          return await fake.fetch(url, { method, headers, body });
        },
      },
    );
    const { id, name: label } = known;
    const told = await service.check!(bound);
    assert.deepEqual(told, id === undefined ? label : { id, label });
    await client.revoke(tokens);
    assert.match(fake.asked.at(-1)!.body, known.revoked);
  });
}

const GOOGLE = "https://accounts.google.com";
const TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47";
const ENTRA = "https://login.microsoftonline.com";

Deno.test("google is asked for a refresh token each time, and for the account by an id_token", async () => {
  await using fake = serveOpenId({
    issuer: GOOGLE,
    claims: { iss: "accounts.google.com" },
  });
  const service = account("google", { scopes: ["calendar"] });
  const client = accountClient(service, APPLICATION, fake.fetch);
  const { searchParams } = await client.authorizationUrl(REQUEST);
  assert.equal(searchParams.get("access_type"), "offline");
  assert.equal(searchParams.get("prompt"), "consent select_account");
  assert.equal(searchParams.get("scope"), "openid email calendar");
  const { findAccount, tokens } = await client.redeem(SIGN_IN);
  assert.deepEqual(await findAccount(), {
    id: "user-1",
    label: "ada@example.com",
  });
  await client.revoke(tokens);
  assert.equal(fake.asked.at(-1)!.form.token, "upstream-refresh");
});

Deno.test("microsoft takes the tenants of its issuer, and no others", async () => {
  const wrong = { iss: `${ENTRA}/evil/v2.0`, tid: TENANT };
  const right = { iss: `${ENTRA}/${TENANT}/v2.0`, tid: TENANT };
  for (const claims of [wrong, right]) {
    await using fake = serveOpenId({
      issuer: `${ENTRA}/{tenantid}/v2.0`,
      claims: { ...claims, preferred_username: "ada@contoso.example" },
      metadata: { revocation_endpoint: undefined },
    });
    const service = account("microsoft", { scopes: ["Mail.Read"] });
    const client = accountClient(service, APPLICATION, fake.fetch);
    const { searchParams } = await client.authorizationUrl(REQUEST);
    assert.match(searchParams.get("scope")!, /offline_access .*Mail\.Read/);
    const { findAccount } = await client.redeem(SIGN_IN);
    if (claims === wrong) {
      await assertRefused(findAccount(), "misbehaved", /iss/);
    } else {
      assert.equal((await findAccount()).label, "ada@contoso.example");
      assert.equal(await client.canRevoke(), false);
    }
  }
});

Deno.test("a service with an issuer is asked for what its metadata has, and its iss is checked", async () => {
  await using fake = serveOpenId({
    metadata: {
      jwks_uri: undefined,
      scopes_supported: ["offline_access"],
      authorization_response_iss_parameter_supported: true,
    },
    answer: { id_token: undefined },
  });
  const { origin: issuer } = fake;
  const service = account("acme", { issuer, api: issuer, scopes: ["read"] });
  const client = accountClient(service, APPLICATION);
  const { searchParams } = await client.authorizationUrl(REQUEST);
  assert.equal(searchParams.get("scope"), "read offline_access");
  assert.equal(searchParams.get("prompt"), "consent");
  await assertRefused(client.redeem(SIGN_IN), "misbehaved", /iss/);
  await assertRefused(
    client.redeem({ ...SIGN_IN, issuer: "https://evil.example" }),
    "misbehaved",
    /iss/,
  );
  const { findAccount } = await client.redeem({ ...SIGN_IN, issuer });
  assert.deepEqual(await findAccount(), {});
});

for (const endpoint of ["https://id.example/revoke", undefined]) {
  Deno.test(`canRevoke() is ${endpoint !== undefined} of a service whose metadata has ${endpoint ?? "no endpoint for that"}, and not known while it is away`, async () => {
    await using fake = serveOpenId({
      metadata: { revocation_endpoint: endpoint },
    });
    const { origin: issuer } = fake;
    const service = account("acme", { issuer, api: issuer });
    const down = () => Promise.reject(new TypeError("connection refused"));
    const away = accountClient(service, APPLICATION, down);
    await assertRefused(away.canRevoke(), "unavailable", /./);
    const client = accountClient(service, APPLICATION);
    assert.equal(await client.canRevoke(), endpoint !== undefined);
  });
}

Deno.test("tokens are those of one application at one service", () => {
  const api = "https://api.example";
  const issuer = "https://id.example";
  const ids = [
    account("a", { api, issuer }),
    account("b", { api, issuer }),
    account("a", { api: "https://other.example", issuer }),
    account("a", { api, issuer: "https://other.example" }),
  ].map((it) => accountClient(it, APPLICATION).id);
  const other = { ...APPLICATION, clientId: "other" };
  ids.push(accountClient(account("a", { api, issuer }), other).id);
  assert.equal(new Set(ids).size, ids.length);
});
