import assert from "node:assert/strict";
import { now } from "../../../../src/core/clock.ts";
import { authorizationRequestKey } from "../../../../src/core/kv/keys.ts";
import { oauthError, statusOf } from "../../../kit/answer.ts";
import { PROVIDER_URL } from "../../../kit/fake_provider.ts";
import { BASE_URL } from "../../../kit/server.ts";
import { Client, REDIRECT_URI } from "../../../kit/client.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../../kit/sign_in.ts";

const DOCUMENT_URL = "https://app.example.com/client.json";
const SECRET = "a-secret-of-many-letters";

function start(
  environment: Record<string, string>,
  options: OAuthServerOptions = {},
): Promise<OAuthServer> {
  return startOAuthServer({
    ...options,
    environment: {
      OAUTH_CLIENTS: JSON.stringify([{
        client_id: "intranet",
        redirect_uris: [REDIRECT_URI],
        client_secret_env: "OAUTH_CLIENT_SECRET_INTRANET",
      }]),
      OAUTH_CLIENT_SECRET_INTRANET: SECRET,
      ...environment,
    },
    fetchDocument: (url) =>
      Promise.resolve({
        document: url === DOCUMENT_URL
          ? {
            client_id: DOCUMENT_URL,
            client_name: "App",
            redirect_uris: [REDIRECT_URI, "http://localhost/callback"],
          }
          : undefined,
        expiresAt: now() + 60,
      }),
  });
}

function authorize(server: OAuthServer, client: Client): Promise<Response> {
  return server.fetch(client.authorizationUrl().slice(BASE_URL.length));
}

Deno.test("OAUTH_REGISTRATION=false registers no one, and the metadata names no endpoint", async () => {
  await using server = await start({ OAUTH_REGISTRATION: "false" });
  assert.equal(
    await oauthError(server.json("/register", {
      redirect_uris: [REDIRECT_URI],
    })),
    "403 access_denied",
  );
  const response = await server.fetch(
    "/.well-known/oauth-authorization-server",
  );
  const metadata = await response.json();
  assert(!("registration_endpoint" in metadata));
  assert.equal(metadata.client_id_metadata_document_supported, true);
  // Clients with a document, and those of the operator, are still accepted.
  assert((await new Client(server, DOCUMENT_URL).connect()).access_token);
  const own = new Client(server, "intranet", REDIRECT_URI, SECRET);
  assert((await own.connect()).access_token);
});

Deno.test("OAUTH_REGISTRATION=false keeps the promise to those who registered before", async () => {
  using kv = await Deno.openKv(":memory:");

  await using before = await start({}, { kv });
  const client = await Client.register(before);
  await using after = await start({ OAUTH_REGISTRATION: "false" }, { kv });
  client.server = after;
  assert((await client.connect()).access_token);
});

Deno.test("OAUTH_REDIRECT_HOSTS counts at /register, and at /authorize for who registered before or has a document", async () => {
  using kv = await Deno.openKv(":memory:");
  const hosts = { OAUTH_REDIRECT_HOSTS: "claude.ai,localhost" };
  await using before = await start({}, { kv });
  const old = await Client.register(before);
  await using server = await start(hosts, { kv });
  assert.equal(
    await oauthError(server.json("/register", {
      redirect_uris: ["https://claude.ai/cb", REDIRECT_URI],
    })),
    "400 invalid_redirect_uri",
  );
  await Client.register(server, {
    redirect_uris: ["https://claude.ai/cb", "http://localhost:1/cb"],
  });
  const shown = await authorize(server, old);
  assert.equal(shown.status, 400);
  assert.equal(shown.headers.get("location"), null);
  await shown.body?.cancel();
  // A document of any domain would get round it.
  const documented = new Client(server, DOCUMENT_URL);
  assert.equal(await statusOf(authorize(server, documented)), 400);
  // The operator's own clients are on no other list.
  for (
    const client of [
      new Client(server, DOCUMENT_URL, "http://localhost:1/callback"),
      new Client(server, "intranet", REDIRECT_URI, SECRET),
    ]
  ) {
    assert.equal(await statusOf(authorize(server, client)), 200);
  }
});

for (
  const [what, trusted, clientId, secret] of [
    ["a client of the operator's", "intranet", "intranet", SECRET],
    ["a metadata document", DOCUMENT_URL, DOCUMENT_URL, undefined],
    ["a document's domain", "app.example.com", DOCUMENT_URL, undefined],
  ] as const
) {
  Deno.test(`OAUTH_TRUSTED_CLIENTS sends ${what} straight to the provider, and back with a code`, async () => {
    await using server = await start({ OAUTH_TRUSTED_CLIENTS: trusted });
    const client = new Client(server, clientId, REDIRECT_URI, secret);
    const response = await authorize(server, client);
    assert.equal(response.status, 302);
    const location = new URL(response.headers.get("location")!);
    assert.equal(location.origin, PROVIDER_URL);
    await response.body?.cancel();
    const arrival = await server.browser().open(client.authorizationUrl());
    const { status, body } = await client.redeem(client.codeFrom(arrival));
    assert.equal(status, 200);
    const page = await server.browser().open(`${BASE_URL}/account`);
    assert.equal(page.status, 200);
    assert(body.access_token);
  });
}

Deno.test("OAUTH_TRUSTED_CLIENTS asks where the client wants it: prompt=consent", async () => {
  await using server = await start({ OAUTH_TRUSTED_CLIENTS: "intranet" });
  const client = new Client(server, "intranet", REDIRECT_URI, SECRET);
  const url = client.authorizationUrl({ prompt: "login consent" });
  const response = await server.fetch(url.slice(BASE_URL.length));
  assert.match(await response.text(), /name="decision"/);
  const tokens = await client.connect({ prompt: "consent" });
  assert(tokens.access_token);
});

Deno.test("OAUTH_TRUSTED_CLIENTS keeps a sign-in in the browser that began it", async () => {
  await using server = await start({ OAUTH_TRUSTED_CLIENTS: "intranet" });
  const client = new Client(server, "intranet", REDIRECT_URI, SECRET);
  const response = await authorize(server, client);
  const state = new URL(response.headers.get("location")!).searchParams
    .get("state")!;
  await response.body?.cancel();
  const found = await server.kv.get(authorizationRequestKey(state));
  assert(found.value);
  // Another person's browser does not have its cookie.
  assert.equal(
    await statusOf(server.fetch(
      `/oauth/provider-callback?code=c&state=${state}`,
    )),
    400,
  );
});

Deno.test("a client's hints for the provider's page are passed on, with consent and without", async () => {
  await using server = await start({ OAUTH_TRUSTED_CLIENTS: DOCUMENT_URL });
  const hints = {
    login_hint: "jo@example.com",
    prompt: "consent select_account",
  };
  const passedOn = () => {
    const { loginHint, prompts } = server.provider.asked!;
    return [loginHint, prompts];
  };
  await (await Client.register(server)).connect(hints);
  assert.deepEqual(passedOn(), ["jo@example.com", ["select_account"]]);
  const url = new Client(server, DOCUMENT_URL).authorizationUrl({
    ...hints,
    prompt: "login",
  });
  await server.browser().open(url);
  assert.deepEqual(passedOn(), ["jo@example.com", ["login"]]);
});

for (
  const [what, trusted, make] of [
    [
      "a client that registered itself under a trusted name",
      "intranet,App,app.example.com",
      (server: OAuthServer) =>
        Client.register(server, { client_name: "intranet" }),
    ],
    [
      "a client that is not listed",
      "other",
      (server: OAuthServer) =>
        Promise.resolve(new Client(server, DOCUMENT_URL)),
    ],
    [
      "a trusted document at a loopback address",
      DOCUMENT_URL,
      (server: OAuthServer) =>
        Promise.resolve(
          new Client(server, DOCUMENT_URL, "http://localhost:1/callback"),
        ),
    ],
  ] as const
) {
  Deno.test(`OAUTH_TRUSTED_CLIENTS still asks about ${what}`, async () => {
    await using server = await start({ OAUTH_TRUSTED_CLIENTS: trusted });
    const response = await authorize(server, await make(server));
    assert.equal(response.status, 200);
    assert.match(await response.text(), /name="decision"/);
  });
}
