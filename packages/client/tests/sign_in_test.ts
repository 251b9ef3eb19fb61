import assert from "node:assert/strict";
import { SignIn, type SignInOptions } from "../mod.ts";

const ORIGIN = "https://tools.example.com";
const RESOURCE = "/.well-known/oauth-protected-resource/mcp";
const SERVER = "/.well-known/oauth-authorization-server";

type Routes = Record<string, (body: string) => unknown>;

const ROUTES: Routes = {
  [RESOURCE]: () => ({
    resource: `${ORIGIN}/mcp`,
    authorization_servers: [ORIGIN],
    scopes_supported: ["read"],
  }),
  [SERVER]: () => ({
    issuer: ORIGIN,
    authorization_endpoint: `${ORIGIN}/authorize`,
    token_endpoint: `${ORIGIN}/token`,
    registration_endpoint: `${ORIGIN}/register`,
    revocation_endpoint: `${ORIGIN}/revoke`,
    code_challenge_methods_supported: ["S256"],
    scopes_supported: ["read", "offline_access"],
    authorization_response_iss_parameter_supported: true,
  }),
  "/register": () => ({ client_id: "registered" }),
  "/token": () => ({
    access_token: "access",
    token_type: "bearer",
    refresh_token: "refresh",
    expires_in: 60,
    scope: "read",
  }),
  "/revoke": () => ({}),
};

/** Makes a `fetch` of a server, and the list of the requests to it. */
function serverOf(changes: Routes = {}) {
  const sent: { url: string; body: string }[] = [];
  const routes: Routes = { ...ROUTES, ...changes };
  const fetcher = (async (input, init) => {
    const { href, origin, pathname } = new URL(String(input));
    const body = init?.body ? await new Response(init.body).text() : "";
    sent.push({ url: href, body });
    assert.equal(init?.redirect, "error");
    const known = origin === ORIGIN ? routes[pathname] : undefined;
    const answer = known?.(body) ?? new Response("", { status: 404 });
    return answer instanceof Response ? answer : Response.json(answer);
  }) as typeof fetch;
  return { fetch: fetcher, sent };
}

function optionsOf(fetch: typeof globalThis.fetch): SignInOptions {
  return {
    url: `${ORIGIN}/mcp`,
    redirectUri: "http://127.0.0.1:1/callback",
    clientName: "Test",
    fetch,
  };
}

/** Makes the metadata of one document, changed. */
function changed(path: string, change: Record<string, unknown>): Routes {
  return { [path]: () => ({ ...ROUTES[path]("") as object, ...change }) };
}

Deno.test("SignIn registers, asks with PKCE, and exchanges the code", async () => {
  const { fetch, sent } = serverOf();
  const request = await SignIn.begin({ ...optionsOf(fetch), isLasting: true });
  const asked = new URL(request.url).searchParams;
  assert.equal(asked.get("client_id"), "registered");
  assert.equal(asked.get("scope"), "read offline_access");
  const { body } = sent.find(({ url }) => url.endsWith("/register"))!;
  assert.equal(JSON.parse(body).scope, "read offline_access");
  assert.equal(asked.get("resource"), `${ORIGIN}/mcp`);
  const { state } = request;
  const response = new URLSearchParams({ state, code: "one", iss: ORIGIN });
  const tokens = await SignIn.finish(request, response, fetch);
  assert.equal(tokens.accessToken, "access");
  assert.equal(tokens.refreshToken, "refresh");
  assert.equal(tokens.scope, "read");
  const exchanged = new URLSearchParams(sent.at(-1)!.body);
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(exchanged.get("code_verifier")!),
  );
  assert.equal(
    new Uint8Array(digest).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    }),
    asked.get("code_challenge"),
  );
});

for (const path of [RESOURCE, SERVER]) {
  for (const status of [408, 425, 429, 500, 503]) {
    Deno.test(`SignIn takes no other document after ${status} at ${path}`, async () => {
      const { fetch, sent } = serverOf({
        [path]: () => new Response("", { status }),
      });
      await assert.rejects(SignIn.begin(optionsOf(fetch)), { status });
      assert.equal(sent.at(-1)!.url, `${ORIGIN}${path}`);
    });
  }
}

const LOCAL = "http://127.0.0.1:9";

for (
  const [what, changes, metadataUrl] of [
    ["its metadata", {}, `${LOCAL}/metadata`],
    ["its issuer", changed(RESOURCE, { authorization_servers: [LOCAL] })],
    ...["authorization", "token", "registration", "revocation"].map((name) => [
      `its ${name} endpoint`,
      changed(SERVER, { [`${name}_endpoint`]: `${LOCAL}/${name}` }),
    ]),
  ] as [string, Routes, string | undefined][]
) {
  Deno.test(`SignIn lets no distant server say that ${what} is on this machine`, async () => {
    const { fetch, sent } = serverOf(changes);
    await assert.rejects(
      SignIn.begin({ ...optionsOf(fetch), metadataUrl }),
      /needs an https address, not http:/,
    );
    assert(sent.every(({ url }) => !url.startsWith(LOCAL)));
  });
}

Deno.test("SignIn keeps a client ID for its issuer alone", async () => {
  for (
    const [issuer, expected] of [
      [ORIGIN, "kept"],
      [undefined, "kept"],
      ["https://other.example", "registered"],
    ]
  ) {
    const { fetch } = serverOf();
    const request = await SignIn.begin({
      ...optionsOf(fetch),
      registered: { clientId: "kept", issuer },
    });
    assert.equal(request.clientId, expected);
  }
});

Deno.test("SignIn finds metadata at the root, and that of OpenID", async () => {
  const well = "/.well-known/";
  const { fetch } = serverOf({
    [RESOURCE]: () => undefined,
    [`${well}oauth-protected-resource`]: ROUTES[RESOURCE],
    [SERVER]: () => undefined,
    [`${well}openid-configuration`]: ROUTES[SERVER],
  });
  const { issuer } = await SignIn.begin(optionsOf(fetch));
  assert.equal(issuer, ORIGIN);
});

for (
  const [what, changes, words] of [
    [
      "another resource",
      changed(RESOURCE, { resource: "https://other.example/mcp" }),
      /says that it is https:\/\/other/,
    ],
    [
      "a resource beside it",
      changed(RESOURCE, { resource: `${ORIGIN}/mc` }),
      /says that it is/,
    ],
    [
      "the resource above it",
      changed(RESOURCE, { resource: ORIGIN }),
      /\/mcp says that it is https:\/\/[^/]+$/,
    ],
    [
      "no authorization server",
      changed(RESOURCE, { authorization_servers: [] }),
      /does not say where to sign in/,
    ],
    [
      "an issuer over http",
      changed(RESOURCE, {
        authorization_servers: ["http://tools.example.com"],
      }),
      /needs an https address/,
    ],
    [
      "another issuer",
      changed(SERVER, { issuer: "https://other.example" }),
      /says that it is https:\/\/other/,
    ],
    [
      "no PKCE",
      changed(SERVER, { code_challenge_methods_supported: undefined }),
      /does not offer PKCE/,
    ],
    [
      "a token endpoint over http",
      changed(SERVER, { token_endpoint: "http://tools.example.com/token" }),
      /needs an https address/,
    ],
    [
      "a page of a script",
      changed(SERVER, { authorization_endpoint: "javascript:alert(1)" }),
      /needs an https address/,
    ],
    [
      "no registration",
      changed(SERVER, { registration_endpoint: undefined }),
      /lets no client register itself/,
    ],
    ["a registration of no ID", { "/register": () => ({}) }, /no client_id/],
    ["an endless document", {
      [SERVER]: () => new Response(`"${"x".repeat(2 ** 20)}"`),
    }, /answers too much/],
  ] as [string, Routes, RegExp][]
) {
  Deno.test(`SignIn refuses a server with ${what}`, async () => {
    const { fetch } = serverOf(changes);
    await assert.rejects(SignIn.begin(optionsOf(fetch)), words);
  });
}

for (
  const [what, change, words] of [
    ["another state", { state: "other" }, /another state/],
    ["another issuer", { iss: "https://other.example" }, /not from/],
    ["no issuer where one is promised", { iss: undefined }, /no issuer/],
    ["a refusal", {
      code: undefined,
      error: "access_denied",
    }, /Signing in ended: access_denied/],
  ] as [string, Record<string, string | undefined>, RegExp][]
) {
  Deno.test(`SignIn refuses a browser that comes back with ${what}`, async () => {
    const { fetch, sent } = serverOf();
    const request = await SignIn.begin(optionsOf(fetch));
    const before = sent.length;
    const { state } = request;
    const response = new URLSearchParams();
    const all = { state, code: "one", iss: ORIGIN, ...change };
    for (const [name, value] of Object.entries(all)) {
      if (value !== undefined) response.set(name, value);
    }
    await assert.rejects(SignIn.finish(request, response, fetch), words);
    assert.equal(sent.length, before, "the code was sent");
  });
}

Deno.test("SignIn tells the code of a refused refresh token", async () => {
  const { fetch } = serverOf({
    "/token": () => Response.json({ error: "invalid_grant" }, { status: 400 }),
  });
  const request = await SignIn.begin(optionsOf(fetch));
  await assert.rejects(SignIn.refresh(request, "old", fetch), {
    status: 400,
    error: "invalid_grant",
  });
});

Deno.test("SignIn refuses tokens of a type that it does not know", async () => {
  const { fetch } = serverOf({
    "/token": () => ({ access_token: "a", token_type: "DPoP" }),
  });
  const request = await SignIn.begin(optionsOf(fetch));
  await assert.rejects(SignIn.refresh(request, "r", fetch), /no bearer token/);
});

Deno.test("SignIn revokes a token where the server has that", async () => {
  const { fetch, sent } = serverOf();
  const request = await SignIn.begin(optionsOf(fetch));
  await SignIn.revoke(request, "refresh", fetch);
  const { url, body } = sent.at(-1)!;
  assert.equal(url, `${ORIGIN}/revoke`);
  assert.equal(new URLSearchParams(body).get("token"), "refresh");
  const { length } = sent;
  await SignIn.revoke(
    { ...request, revocationEndpoint: undefined },
    "refresh",
    fetch,
  );
  assert.equal(sent.length, length);
});

Deno.test("SignIn.parseChallenge() reads what a server wants", () => {
  const parse = (header: string) =>
    SignIn.parseChallenge(new Headers({ "www-authenticate": header }));
  const nothing = {
    error: undefined,
    scope: undefined,
    metadataUrl: undefined,
  };
  assert.deepEqual(SignIn.parseChallenge(new Headers()), nothing);
  assert.deepEqual(parse('Bearer x_scope="no"'), nothing);
  assert.deepEqual(
    parse('Bearer resource_metadata="https://a/b", scope="c d"'),
    { ...nothing, scope: "c d", metadataUrl: "https://a/b" },
  );
  assert.deepEqual(
    parse('Basic realm="m", Bearer error = insufficient_scope,Scope=c'),
    { ...nothing, error: "insufficient_scope", scope: "c" },
  );
  // A text within the value of another parameter is no parameter.
  assert.deepEqual(
    parse(String.raw`Bearer error_description="no scope=\"a\"", scope="b"`),
    { ...nothing, scope: "b" },
  );
});

/** Metadata with a sign-in page at another host, and no promise of `iss`. */
function sentTo(page: string, change: Record<string, unknown> = {}): Routes {
  return changed(SERVER, {
    authorization_endpoint: `${page}/authorize`,
    authorization_response_iss_parameter_supported: undefined,
    ...change,
  });
}

Deno.test("SignIn sends no one to the page of another site whose codes would go elsewhere", async () => {
  for (
    const page of [
      "https://honest.example",
      "https://login.example.com",
      "https://a.co.uk",
    ]
  ) {
    const { fetch, sent } = serverOf(sentTo(page));
    await assert.rejects(SignIn.begin(optionsOf(fetch)), {
      message: `${ORIGIN} sends people to ${
        new URL(page).host
      }, and their codes elsewhere`,
    });
    assert(sent.every(({ url }) => !url.endsWith("/register")));
  }
  for (const domain of ["co.uk", "github.io"]) {
    const tokens = {
      token_endpoint: `https://b.${domain}/token`,
      revocation_endpoint: undefined,
    };
    const { fetch } = serverOf(sentTo(`https://a.${domain}`, tokens));
    await assert.rejects(SignIn.begin(optionsOf(fetch)), /codes elsewhere/);
  }
});

Deno.test("SignIn sends people to a host above or below the server, with iss, for a known client, and where the page's own metadata agree", async () => {
  const page = "https://honest.example";
  const revocation_endpoint = undefined;
  const promise = { authorization_response_iss_parameter_supported: true };
  for (
    const [changes, registered] of [
      [sentTo("https://example.com")],
      [sentTo("https://login.tools.example.com")],
      [sentTo(page, promise)],
      [sentTo(page), { clientId: "known", issuer: ORIGIN }],
    ] as [Routes, SignInOptions["registered"]][]
  ) {
    const { fetch } = serverOf(changes);
    await SignIn.begin({ ...optionsOf(fetch), registered });
  }
  const { fetch } = serverOf(sentTo(page, { revocation_endpoint }));
  for (const token_endpoint of [`${ORIGIN}/token`, `${page}/token`]) {
    const own = {
      issuer: page,
      token_endpoint,
      code_challenge_methods_supported: ["S256"],
    };
    const begun = SignIn.begin(
      optionsOf(
        (async (input, init) =>
          `${input}`.startsWith(page)
            ? Response.json(own)
            : await fetch(input, init)) as typeof fetch,
      ),
    );
    if (token_endpoint.startsWith(ORIGIN)) await begun;
    else await assert.rejects(begun, /codes elsewhere/);
  }
});
