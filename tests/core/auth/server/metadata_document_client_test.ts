import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import {
  DocumentError,
  NoDocument,
} from "../../../../src/core/auth/clients/fetch_bounds.ts";
import { now } from "../../../../src/core/clock.ts";
import { statusOf } from "../../../kit/answer.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { BASE_URL } from "../../../kit/server.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";

const URL = "https://app.example.com/client.json";
const DOCUMENT = {
  client_id: URL,
  client_name: "App with a document",
  redirect_uris: ["https://app.example.com/cb", "http://localhost/callback"],
};

/** Makes a web with these documents. */
function web(documents: Record<string, unknown>) {
  const state = { isUp: true, fetched: [] as string[] };
  return {
    state,
    fetchDocument(url: string) {
      state.fetched.push(url);
      if (!state.isUp) return Promise.reject(new Error("192.168.0.1 says no"));
      const expiresAt = now() + 60;
      return Promise.resolve({ document: documents[url], expiresAt });
    },
  };
}

/** Connects a client whose document can then no longer be fetched. */
async function documentLost() {
  await using stack = new AsyncDisposableStack();
  const time = stack.use(new FakeTime());
  const { state, fetchDocument } = web({ [URL]: DOCUMENT });
  const server = stack.use(await startOAuthServer({ fetchDocument }));
  const client = new Client(server, URL);
  const { refresh_token } = await client.connect();
  state.isUp = false;
  time.tick(301);
  const all = stack.move();
  return {
    server,
    client,
    refresh_token,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

Deno.test("a client with a metadata document signs in, and consent names its domain", async () => {
  const { state, fetchDocument } = web({ [URL]: DOCUMENT });
  await using server = await startOAuthServer({ fetchDocument });
  const client = new Client(server, URL, "http://localhost:5555/callback");
  const page = await server.browser().open(client.authorizationUrl());
  assert.match(page.text, /App with a document/);
  assert.match(page.text, /Domain verified/);
  assert.match(page.text, /app\.example\.com/);
  assert((await client.connect()).refresh_token);
  assert.deepEqual(state.fetched, [URL]);
});

Deno.test("a client's document is in the database once someone has signed in with it", async () => {
  const { fetchDocument } = web({ [URL]: DOCUMENT });
  await using server = await startOAuthServer({ fetchDocument });
  const documents = async () =>
    (await Array.fromAsync(server.kv.list({ prefix: ["document"] }))).length;
  const client = new Client(server, URL, "http://localhost:5555/callback");
  const code = await client.signIn();
  await client.redeem("guessed");
  assert.equal(await documents(), 0);
  assert.equal((await client.redeem(code)).status, 200);
  assert.equal(await documents(), 1);
});

Deno.test("a document that cannot be read is one generic page, and an established client goes on", async () => {
  await using flow = await documentLost();
  const { server, client, refresh_token } = flow;
  const page = await server.browser().open(client.authorizationUrl());
  assert.equal(page.status, 503);
  assert.doesNotMatch(page.text, /192\.168/);
  assert.equal((await client.refresh(refresh_token)).status, 200);
});

Deno.test("POST /revoke ends a token of a client whose document cannot be read now", async () => {
  await using flow = await documentLost();
  const { server, client, refresh_token } = flow;
  assert.equal(
    await statusOf(server.form("/revoke", { token: refresh_token })),
    200,
  );
  assert.equal((await client.refresh(refresh_token)).status, 400);
});

for (
  const [when, environment] of [
    ["only some domains are welcome", { CIMD_ALLOWED_DOMAINS: "claude.ai" }],
    ["documents are switched off", { CIMD_ENABLED: "false" }],
  ] as const
) {
  Deno.test(`a document is not even fetched when ${when}`, async () => {
    const { state, fetchDocument } = web({ [URL]: DOCUMENT });
    await using server = await startOAuthServer({ fetchDocument, environment });
    const client = new Client(server, URL);
    const page = await server.browser().open(client.authorizationUrl());
    assert.equal(page.status, 400);
    assert.deepEqual(state.fetched, []);
  });
}

const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const KEYS_URL = "https://app.example.com/jwks";

/** Makes a key pair, and an assertion of the client signed with it. */
async function keyPair(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  return {
    publicKey: { ...await exportJWK(publicKey), kid },
    assert: async () => ({
      client_assertion_type: TYPE,
      client_assertion: await new SignJWT({ jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: "ES256", kid })
        .setIssuer(URL).setSubject(URL).setAudience(BASE_URL)
        .setExpirationTime(now() + 60).sign(privateKey),
    }),
  };
}

for (const place of ["at jwks_uri", "in the document"]) {
  Deno.test(`a client's new keys ${place} are noticed at once, and looked for once a minute`, async () => {
    using time = new FakeTime();
    const [first, second, third] = await Promise.all(
      ["2026-01", "2026-02", "2026-03"].map(keyPair),
    );
    const documents: Record<string, unknown> = {};
    const publish = (...keys: typeof first[]) => {
      const jwks = { keys: keys.map(({ publicKey }) => publicKey) };
      documents[KEYS_URL] = jwks;
      documents[URL] = {
        ...DOCUMENT,
        token_endpoint_auth_method: "private_key_jwt",
        ...place === "at jwks_uri" ? { jwks_uri: KEYS_URL } : { jwks },
      };
    };
    publish(first);
    const { state, fetchDocument } = web(documents);
    await using server = await startOAuthServer({ fetchDocument });
    const client = new Client(server, URL);
    const code = await client.signIn();
    assert.equal((await client.redeem(code)).body.error, "invalid_client");
    const { status, body } = await client.redeem(code, await first.assert());
    assert.equal(status, 200);

    time.tick(60);
    publish(second);
    const fetched = state.fetched.length;
    const renewed = await client.refresh(
      body.refresh_token,
      await second.assert(),
    );
    assert.equal(renewed.status, 200);
    assert.equal(state.fetched.length, fetched + 1);

    for (let times = 0; times < 3; times++) {
      const strange = await client.refresh(
        renewed.body.refresh_token,
        await third.assert(),
      );
      assert.equal(strange.body.error, "invalid_client");
    }
    assert.equal(state.fetched.length, fetched + 1);

    publish(third);
    time.set(-3600);
    const { refresh_token } = renewed.body;
    const later = await client.refresh(refresh_token, await third.assert());
    assert.equal(later.status, 200, "after the clock was set back");
  });
}

Deno.test("a client may use any of the methods that its document names, as ChatGPT's does", async () => {
  const key = await keyPair("2026-01");
  const { fetchDocument } = web({
    [URL]: {
      ...DOCUMENT,
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
      jwks_uri: KEYS_URL,
    },
    [KEYS_URL]: { keys: [key.publicKey] },
  });
  await using server = await startOAuthServer({ fetchDocument });
  const client = new Client(server, URL);
  const { status, body } = await client.redeem(await client.signIn());
  assert.equal(status, 200);
  const signed = await client.refresh(body.refresh_token, await key.assert());
  assert.equal(signed.status, 200);
  const secret = await client.refresh(signed.body.refresh_token, {
    client_secret: "s",
  });
  assert.equal(secret.body.error, "invalid_client");
});

Deno.test("a document that is not there is the client's fault, and one that is away is not", async () => {
  for (
    const [cause, status, error] of [
      [new NoDocument("404"), 400, "invalid_client"],
      [new Error("no answer"), 503, "temporarily_unavailable"],
    ] as const
  ) {
    await using server = await startOAuthServer({
      fetchDocument: () => Promise.reject(new DocumentError({ cause })),
    });
    const client = new Client(server, URL);
    const path = client.authorizationUrl().slice(BASE_URL.length);
    const response = await server.fetch(path);
    assert.equal(response.status, status);
    assert.equal((await response.json()).error, error);
    const { status: atToken, body } = await client.redeem("x");
    assert.equal(atToken, status === 400 ? 401 : 503);
    assert.equal(body.error, error);
  }
});
