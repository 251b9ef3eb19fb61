import assert from "node:assert/strict";
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  Client as ClientV2,
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { exportJWK, generateKeyPair } from "jose";
import * as oauth from "oauth4webapi";
import { tool } from "../../src/authoring/tool.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../src/core/oauth/client.ts";
import { startAssertionProvider } from "../kit/assertion_provider.ts";
import { formOf } from "../kit/account_visitor.ts";
import { browserOf } from "../kit/browser.ts";
import { type OAuthServer, serveOAuthServer } from "../kit/sign_in.ts";

const REDIRECT_URI = "http://localhost:7777/callback";
const DOCUMENT_URL = "https://app.example.com/client.json";

const whoami = tool({
  name: "whoami",
  run: (_, { caller }) => `${caller.subject} by ${caller.clientId}`,
});
const mail = tool({
  name: "mail",
  scopes: ["mail:read"],
  run: () => "You have mail",
});
const tools = [whoami, mail];

/** Opens a browser at the public origin, which is part of the tests. */
function browserAt({ app }: OAuthServer, baseUrl: string) {
  return browserOf({
    fetch: async (path, init) =>
      await app.fetch(new Request(baseUrl + path, init)),
  }, { baseUrl });
}

/** Approves as a person, and gives the address that the browser ends at. */
async function approve(
  server: OAuthServer,
  baseUrl: string,
  url: URL,
): Promise<URL> {
  const browser = browserAt(server, baseUrl);
  const page = await browser.open(url);
  assert.equal(page.status, 200, page.text);
  return new URL((await browser.press(page, "decision", "approve")).url);
}

/** The stored state of an MCP client, with the members of both SDKs. */
class Memory {
  redirectUrl = REDIRECT_URI;
  clientMetadata = {
    redirect_uris: [REDIRECT_URI],
    client_name: "An SDK",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  clientMetadataUrl?: string;
  sentTo: URL | undefined;
  // deno-lint-ignore no-explicit-any
  kept: any = {};
  #verifier = "";
  state = () => "state of the SDK";
  clientInformation = () => this.kept.client;
  saveClientInformation = (client: unknown) => void (this.kept.client = client);
  tokens = () => this.kept.tokens;
  saveTokens = (tokens: unknown) => void (this.kept.tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.sentTo = url);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: unknown) => void (this.kept.discovery = state);
  discoveryState = () => this.kept.discovery;
  invalidateCredentials = (what: string) => {
    if (what === "all") this.kept = {};
    else delete this.kept[what];
  };
}

/** One of the SDKs, reduced to sign-in. */
interface Sdk {
  connect(): Promise<void>;
  finish(answer: URL): Promise<void>;
  call(name: string): Promise<string>;
  list(): Promise<string[]>;
  close(): Promise<void>;
}

function v1(url: string, memory: Memory): Sdk {
  const newTransport = () =>
    new TransportV1(new URL(`${url}/mcp`), { authProvider: memory });
  let transport = newTransport();
  const client = new ClientV1({ name: "interop", version: "1" });
  return {
    connect: () => client.connect(transport),
    async finish(answer) {
      await transport.finishAuth(answer.searchParams.get("code")!);
      transport = newTransport();
    },
    async call(name) {
      const { content } = await client.callTool({ name, arguments: {} });
      return JSON.stringify(content);
    },
    list: async () => namesOf(await client.listTools()),
    close: () => client.close(),
  };
}

/** Names the tools of an author. */
function namesOf({ tools }: { tools: { name: string }[] }): string[] {
  return tools.map(({ name }) => name).filter((name) => !/^task_/.test(name));
}

function v2(
  url: string,
  memory: Memory,
  mode: "legacy" | { pin: "2026-07-28" },
): Sdk {
  const newTransport = () =>
    new TransportV2(new URL(`${url}/mcp`), { authProvider: memory });
  let transport = newTransport();
  const newClient = () =>
    new ClientV2({ name: "interop", version: "1" }, {
      versionNegotiation: { mode },
    });
  let client = newClient();
  return {
    connect: () => client.connect(transport),
    async finish(answer) {
      await transport.finishAuth(answer.searchParams);
      transport = newTransport();
      client = newClient();
    },
    async call(name) {
      const { content } = await client.callTool({ name, arguments: {} });
      return JSON.stringify(content);
    },
    list: async () => namesOf(await client.listTools()),
    close: () => client.close(),
  };
}

const SDKS: [string, (url: string, memory: Memory) => Sdk][] = [
  ["v1 SDK", v1],
  ["v2 SDK, legacy", (url, memory) => v2(url, memory, "legacy")],
  [
    "v2 SDK, 2026-07-28",
    (url, memory) => v2(url, memory, { pin: "2026-07-28" }),
  ],
];

type Served = Awaited<ReturnType<typeof serveOAuthServer>>;

/** Approves what the SDK asked for, and connects it. */
async function goOn(
  sdk: Sdk,
  { server, url }: Served,
  memory: Memory,
): Promise<void> {
  await sdk.finish(await approve(server, url, memory.sentTo!));
  await sdk.connect();
}

/** Lets an SDK find out that it has to sign in, and do so. */
async function signIn(sdk: Sdk, served: Served, memory: Memory) {
  await assert.rejects(sdk.connect(), /[Uu]nauthorized/);
  await goOn(sdk, served, memory);
}

for (const [name, make] of SDKS) {
  Deno.test(`the ${name} signs in by itself, refreshes, and signs in again when it must`, async () => {
    await using served = await serveOAuthServer({ tools });
    const { server, url } = served;
    const memory = new Memory();
    const sdk = make(url, memory);
    await signIn(sdk, served, memory);
    const { client_id } = memory.kept.client;
    assert.match(
      await sdk.call("whoami"),
      new RegExp(`github:42 by ${client_id}`),
    );
    // The challenge named every scope, so the client asked for them.
    assert.match(await sdk.call("mail"), /You have mail/);

    const before = memory.kept.tokens;
    memory.kept.tokens = { ...before, access_token: "expired" };
    assert.match(await sdk.call("whoami"), /github:42/);
    assert.notEqual(memory.kept.tokens.access_token, before.access_token);
    assert.notEqual(memory.kept.tokens.refresh_token, before.refresh_token);

    const revoked = await server.form("/revoke", {
      token: memory.kept.tokens.refresh_token,
      client_id,
    });
    assert.equal(revoked.status, 200);
    memory.sentTo = undefined;
    memory.kept.tokens = { ...memory.kept.tokens, access_token: "expired" };
    await assert.rejects(sdk.call("whoami"));
    assert(memory.sentTo);
    await sdk.close();
  });
}

for (const [name, make] of SDKS) {
  Deno.test(`the ${name} steps up from a narrow token`, async () => {
    await using served = await serveOAuthServer({
      tools,
      scopes: { "mail:read": { description: "Read your mail", stepUp: true } },
    });
    const { url } = served;
    const memory = new Memory();
    // With a refresh token both SDKs would only refresh.
    memory.clientMetadata.grant_types = ["authorization_code"];
    const narrow = make(url, memory);
    await signIn(narrow, served, memory);
    assert.equal(memory.kept.tokens.scope, "");
    assert.deepEqual(await narrow.list(), ["whoami", "mail"]);
    memory.sentTo = undefined;
    await assert.rejects(narrow.call("mail"));
    assert.equal(memory.sentTo!.searchParams.get("scope"), "mail:read");
    await narrow.close();

    const wide = make(url, memory);
    await goOn(wide, served, memory);
    assert.match(await wide.call("mail"), /You have mail/);
    await wide.close();
  });

  Deno.test(`the ${name} no longer sees a tool after a demotion`, async () => {
    await using served = await serveOAuthServer({
      tools: [
        ...tools,
        tool({ name: "news", scopes: ["news"], run: () => "" }),
      ],
      environment: { OAUTH_PERMISSIONS: "*=news; group:staff=mail:read" },
    });
    const { server, url } = served;
    server.provider.memberships = { groups: ["staff"] };
    const memory = new Memory();
    const sdk = make(url, memory);
    await signIn(sdk, served, memory);
    assert.deepEqual(await sdk.list(), ["whoami", "mail", "news"]);
    assert.match(await sdk.call("mail"), /You have mail/);
    await sdk.close();

    server.provider.memberships = {};
    memory.kept.tokens = { ...memory.kept.tokens, access_token: "expired" };
    const after = make(url, memory);
    await after.connect();
    assert.match(memory.kept.tokens.scope, /^news( offline_access)?$/);
    assert.deepEqual(await after.list(), ["whoami", "news"]);
    await assert.rejects(after.call("mail"), /-32602|Unknown tool/);
    await after.close();
  });
}

for (const [name, make] of SDKS) {
  Deno.test(`the ${name} tries a server out, and signs in for what needs it`, async () => {
    await using served = await serveOAuthServer({
      tools,
      environment: { AUTH_ANONYMOUS: "true" },
    });
    const { url } = served;
    const memory = new Memory();
    const stranger = make(url, memory);
    await stranger.connect();
    assert.deepEqual(await stranger.list(), ["whoami", "mail"]);
    assert.match(await stranger.call("whoami"), /anonymous by undefined/);
    assert.equal(memory.sentTo, undefined);
    await assert.rejects(stranger.call("mail"));
    assert.match(memory.sentTo!.searchParams.get("scope")!, /^mail:read\b/);
    await stranger.close();

    const known = make(url, memory);
    await goOn(known, served, memory);
    assert.match(await known.call("mail"), /You have mail/);
    assert.match(await known.call("whoami"), /github:42/);
    await known.close();
  });
}

/** Connects a client of the v2 SDK in each generation and calls two tools. */
async function callByV2(
  url: string,
  options: () => ConstructorParameters<typeof TransportV2>[1],
): Promise<string[]> {
  const heard = [];
  for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
    const client = new ClientV2({ name: "interop", version: "1" }, {
      versionNegotiation: { mode },
    });
    await client.connect(new TransportV2(new URL(`${url}/mcp`), options()));
    for (const name of ["whoami", "mail"]) {
      const { content } = await client.callTool({ name, arguments: {} });
      heard.push((content as { text: string }[])[0].text);
    }
    await client.close();
  }
  return heard;
}

const SECRET = "a-secret-of-many-letters";

/** Serves with clients that the operator set up. */
async function serveConfigured(
  client: Record<string, unknown>,
  environment: Record<string, string> = {},
) {
  return await serveOAuthServer({
    tools,
    environment: {
      OAUTH_CLIENTS: JSON.stringify([client]),
      OAUTH_CLIENT_SECRET_DESK: SECRET,
      ...environment,
    },
  });
}

const BY_SECRET = {
  client_id: "desk",
  client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
  scope: "mail:read",
};

Deno.test("the v2 SDK calls as a machine by its own provider, with a secret", async () => {
  await using served = await serveConfigured({
    ...BY_SECRET,
    grant_types: ["client_credentials"],
  });
  const { url } = served;
  const heard = await callByV2(url, () => ({
    authProvider: new ClientCredentialsProvider({
      clientId: "desk",
      clientSecret: SECRET,
      expectedIssuer: url,
    }),
  }));
  const machine = ["client:desk by desk", "You have mail"];
  assert.deepEqual(heard, [...machine, ...machine]);
});

Deno.test("the v2 SDK calls as a machine by its own provider, with a signature", async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", {
    extractable: true,
  });
  await using served = await serveConfigured({
    client_id: "desk",
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [await exportJWK(publicKey)] },
    scope: "mail:read",
  });
  const { url } = served;
  const jwk = await exportJWK(privateKey);
  const heard = await callByV2(url, () => ({
    authProvider: new PrivateKeyJwtProvider({
      clientId: "desk",
      privateKey: jwk,
      algorithm: "ES256",
      expectedIssuer: url,
    }),
  }));
  const machine = ["client:desk by desk", "You have mail"];
  assert.deepEqual(heard, [...machine, ...machine]);
});

Deno.test("the v2 SDK signs a person in by an assertion of their identity provider", async () => {
  await using idp = await startAssertionProvider();
  await using served = await serveConfigured({
    ...BY_SECRET,
    grant_types: [JWT_BEARER_GRANT_TYPE],
  }, { OAUTH_ASSERTION_ISSUERS: idp.issuer });
  const { url } = served;
  const heard = await callByV2(url, () => ({
    authProvider: new CrossAppAccessProvider({
      clientId: "desk",
      clientSecret: SECRET,
      expectedIssuer: url,
      assertion: async ({ authorizationServerUrl, resourceUrl, scope }) => {
        const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
          idpUrl: idp.issuer,
          audience: authorizationServerUrl,
          resource: resourceUrl,
          idToken: await idp.idToken("ada"),
          clientId: "desk-at-idp",
          scope,
        });
        return jwtAuthGrant;
      },
    }),
  }));
  const person = [`${idp.issuer}#ada by desk`, "You have mail"];
  assert.deepEqual(heard, [...person, ...person]);
});

Deno.test("both SDKs call with a token that a person made on the account page", async () => {
  await using served = await serveOAuthServer({ tools });
  const { server, url } = served;
  const browser = browserAt(server, url);
  let page = await browser.open(`${url}/account/tokens`);
  // The second sign-in is one at which the provider is told to ask.
  for (let time = 0; time < 2; time++) {
    page = await browser.press(formOf(page, "/account/sign-in"), "", "");
  }
  const form = formOf(page, "/account/tokens");
  const fields = { name: "Backup", days: "7" };
  const made = await browser.press(form, "", "", fields);
  const [token] = /tsp_\w{58}/.exec(made.text)!;
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const heard = await callByV2(url, () => ({ requestInit }));
  const client = new ClientV1({ name: "interop", version: "1" });
  await client.connect(new TransportV1(new URL(`${url}/mcp`), { requestInit }));
  for (const name of ["whoami", "mail"]) {
    const { content } = await client.callTool({ name, arguments: {} });
    heard.push((content as { text: string }[])[0].text);
  }
  await client.close();
  const person = ["github:42 by undefined", "You have mail"];
  assert.deepEqual(heard, [...person, ...person, ...person]);
});

Deno.test("the v2 SDK signs in by its metadata document, without registering", async () => {
  const document = {
    client_id: DOCUMENT_URL,
    client_name: "An SDK with a document",
    redirect_uris: ["http://localhost/callback"],
    token_endpoint_auth_method: "none",
  };
  await using served = await serveOAuthServer({
    tools,
    fetchDocument: (url) => {
      assert.equal(url, DOCUMENT_URL);
      const expiresAt = Math.floor(Date.now() / 1000) + 60;
      return Promise.resolve({ document, expiresAt });
    },
  });
  const { url } = served;
  const memory = new Memory();
  memory.clientMetadataUrl = DOCUMENT_URL;
  const sdk = v2(url, memory, { pin: "2026-07-28" });
  await signIn(sdk, served, memory);
  assert.match(await sdk.call("whoami"), new RegExp(`by ${DOCUMENT_URL}`));
  await sdk.close();
});

for (
  const method of [
    "none",
    "client_secret_basic",
    "client_secret_post",
    "private_key_jwt",
  ]
) {
  Deno.test(`oauth4webapi finds nothing to complain of with ${method}`, async () => {
    await using served = await serveOAuthServer({ tools });
    const { server, url } = served;
    const insecure = { [oauth.allowInsecureRequests]: true };

    const resource = new URL(`${url}/mcp`);
    const protectedResource = await oauth.processResourceDiscoveryResponse(
      resource,
      await oauth.resourceDiscoveryRequest(resource, insecure),
    );
    const issuer = new URL(protectedResource.authorization_servers![0]);
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, {
        algorithm: "oauth2",
        ...insecure,
      }),
    );
    const keys = await oauth.generateKeyPair("ES256", { extractable: true });
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(as, {
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: method,
        ...method === "private_key_jwt" && {
          jwks: {
            keys: [
              await crypto.subtle.exportKey("jwk", keys.publicKey) as never,
            ],
          },
        },
      }, insecure),
    );
    const authentication = {
      none: () => oauth.None(),
      client_secret_basic: () =>
        oauth.ClientSecretBasic(client.client_secret as string),
      client_secret_post: () =>
        oauth.ClientSecretPost(client.client_secret as string),
      private_key_jwt: () => oauth.PrivateKeyJwt(keys.privateKey),
    }[method]!();

    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const ask = new URL(as.authorization_endpoint!);
    ask.search = new URLSearchParams({
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: REDIRECT_URI,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      resource: resource.href,
    }).toString();
    const answer = await approve(server, url, ask);
    const callback = oauth.validateAuthResponse(as, client, answer, state);
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(
        as,
        client,
        authentication,
        callback,
        REDIRECT_URI,
        verifier,
        insecure,
      ),
    );
    const fresh = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(
        as,
        client,
        authentication,
        tokens.refresh_token!,
        insecure,
      ),
    );
    const revocation = await oauth.revocationRequest(
      as,
      client,
      authentication,
      fresh.refresh_token!,
      insecure,
    );
    await oauth.processRevocationResponse(revocation);
    await revocation.body?.cancel();
    await assert.rejects(
      async () =>
        await oauth.processRefreshTokenResponse(
          as,
          client,
          await oauth.refreshTokenGrantRequest(
            as,
            client,
            authentication,
            fresh.refresh_token!,
            insecure,
          ),
        ),
      { error: "invalid_grant" },
    );
  });
}
