import assert from "node:assert/strict";
import { examine } from "../examine.ts";
import { type Finding, printFinding, printReport } from "../finding.ts";
import { type Defects, fakeServer } from "./fake_server.ts";

const ORIGIN = "https://tools.example";

async function findings(
  fetcher: typeof fetch,
  url = ORIGIN,
): Promise<Finding[]> {
  return await Array.fromAsync(examine(url, { fetch: fetcher, connect }));
}

/** A connection that is closed as soon as something is sent. */
const connect = () =>
  Promise.resolve({
    write: (bytes: Uint8Array) => Promise.resolve(bytes.length),
    read: () => Promise.resolve(null),
    close() {},
  });

/** Returns the only complaint about a server with these defects. */
async function complaint(defects: Defects, url = ORIGIN): Promise<string> {
  const bad = (await findings(fakeServer(url, defects), url)).filter((
    { result },
  ) => result === "failed" || result === "warning");
  assert.equal(bad.length, 1, bad.map(printFinding).join("\n"));
  return printFinding(bad[0]).replaceAll(/\s+/g, " ");
}

Deno.test("examine() says what Java's client needs where an upgrade is refused", async () => {
  const url = "http://localhost:3000";
  const well = fakeServer(url);
  const refusing = (input: URL | Request | string, init?: RequestInit) =>
    new Headers(init?.headers).has("upgrade")
      ? Promise.resolve(new Response(null, { status: 400 }))
      : well(input, init);
  const java = async (fetcher: typeof fetch) =>
    (await findings(fetcher, url)).find(({ name }) => /Java/.test(name))!;
  assert.equal((await java(well as typeof fetch)).result, "ok");
  const { result, fix } = await java(refusing as typeof fetch);
  assert.equal(result, "warning");
  assert.match(fix!, /HTTP_1_1.* https/);
});

Deno.test("examine() finds nothing to fix in a server that is well", async () => {
  for (const { name, result, found } of await findings(fakeServer(ORIGIN))) {
    assert.equal(result, "ok", `${name}: ${found}`);
  }
});

for (
  const [what, held, expected] of [
    [
      "headers",
      /accept: $/,
      /headers that do not end\..*read_header 10s.*client_header_timeout 10s/,
    ],
    [
      "a body",
      /\{$/,
      /a long body that does not arrive\..*max_size 5MB.*client_max_body_size 5m/,
    ],
    [
      "both",
      /./,
      /headers .* and by a long body .*read_header.*, and the longest body/,
    ],
  ] as const
) {
  Deno.test(`examine() finds a proxy that waits for ${what} for ever`, async () => {
    const all = examine(ORIGIN, {
      fetch: fakeServer(ORIGIN),
      halfSentMilliseconds: 1,
      async connect() {
        const connection = await connect();
        let isHeld = false;
        const { promise, resolve } = Promise.withResolvers<null>();
        return {
          write(bytes) {
            isHeld = held.test(new TextDecoder().decode(bytes));
            return connection.write(bytes);
          },
          read: () => isHeld ? promise : connection.read(),
          close: () => resolve(null),
        };
      },
    });
    const [found, ...others] = (await Array.fromAsync(all))
      .filter(({ result }) => result !== "ok");
    assert.equal(found.result, "warning");
    assert.match(printFinding(found), expected);
    assert.deepEqual(others, []);
  });
}

Deno.test("examine() skips requests that do not end where no connection opens", async () => {
  for (const connect of [undefined, () => Promise.reject(new Error("no"))]) {
    const all = await Array.fromAsync(
      examine(ORIGIN, { fetch: fakeServer(ORIGIN), connect }),
    );
    const [found] = all.filter(({ result }) => result !== "ok");
    assert.match(found.name, /do not end/);
    assert.equal(found.result, "skipped");
  }
});

const CASES: [what: string, defects: Defects, complaint: RegExp][] = [
  [
    "a BASE_URL that is not the address people type",
    { resourceMetadata: { resource: "https://old.example/mcp" } },
    /^FAILED Resource metadata .*old\.example.*Fix: Set BASE_URL=https:\/\/tools\.example,/,
  ],
  [
    "an issuer with a trailing slash",
    { serverMetadata: { issuer: `${ORIGIN}/` } },
    /^FAILED Issuer .*without a trailing slash/,
  ],
  [
    "a resource without an authorization server",
    { resourceMetadata: { authorization_servers: [] } },
    /names no authorization server.*Fix: Put the issuer/,
  ],
  [
    "server metadata that is missing",
    {
      answers: {
        "GET /.well-known/oauth-authorization-server": () =>
          new Response("", {
            status: 404,
            headers: { "access-control-allow-origin": "*" },
          }),
      },
    },
    /oauth-authorization-server answers 404.*RFC 8414/,
  ],
  [
    "PKCE that is not advertised",
    { serverMetadata: { code_challenge_methods_supported: ["plain"] } },
    /^FAILED PKCE .*does not name S256/,
  ],
  [
    "public clients that are shut out",
    {
      serverMetadata: {
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
      },
    },
    /^FAILED Public clients .*does not name none/,
  ],
  [
    "clients that may not refresh",
    { serverMetadata: { grant_types_supported: ["authorization_code"] } },
    /^FAILED Public clients .*does not name refresh_token/,
  ],
  [
    "iss that is not promised",
    {
      serverMetadata: { authorization_response_iss_parameter_supported: false },
    },
    /^warning Authorization response issuer .*RFC 9207/,
  ],
  [
    "metadata documents that are switched off",
    { serverMetadata: { client_id_metadata_document_supported: false } },
    /^warning Client ID metadata documents .*CIMD_ENABLED/,
  ],
  [
    "an endpoint on http behind a proxy",
    { serverMetadata: { token_endpoint: "http://tools.example/token" } },
    /^FAILED Endpoints .*Set BASE_URL=https:/,
  ],
  [
    "half an OpenID configuration",
    {
      answers: {
        "GET /.well-known/openid-configuration": () =>
          Response.json({ issuer: ORIGIN }),
      },
    },
    /^FAILED OpenID configuration .*without jwks_uri/,
  ],
  [
    "a 401 without a challenge",
    { challenge: "" },
    /^FAILED Challenge .*Let the header through/,
  ],
  [
    "a challenge with an error",
    {
      challenge: `Bearer error="invalid_token", resource_metadata="` +
        `${ORIGIN}/.well-known/oauth-protected-resource/mcp"`,
    },
    /^FAILED Challenge .*RFC 6750/,
  ],
  [
    "a challenge that pages cannot read",
    { swallowed: ["access-control-expose-headers"] },
    /^FAILED CORS of \/mcp .*cannot read www-authenticate/,
  ],
  [
    "a preflight that asks for credentials",
    { answers: { "OPTIONS /mcp": () => new Response("", { status: 401 }) } },
    /^FAILED CORS of \/mcp .*OPTIONS https:\/\/tools\.example\/mcp answers 401/,
  ],
  [
    "a wildcard that does not cover Authorization",
    {
      answers: {
        "OPTIONS /mcp": () =>
          new Response(null, {
            status: 204,
            headers: {
              "access-control-allow-origin": "*",
              "access-control-allow-headers": "*",
            },
          }),
      },
    },
    /may not send authorization to https:\/\/tools\.example\/mcp/,
  ],
  [
    "a token endpoint without CORS",
    {
      answers: { "OPTIONS /token": () => new Response(null, { status: 204 }) },
    },
    /^FAILED CORS of the OAuth endpoints .*cannot read .*\/token/,
  ],
  [
    "tools that need people's accounts, and no key to keep them with",
    {
      answers: {
        "GET /ready": () => Response.json({ provider: "ok", accounts: "off" }),
      },
    },
    /^FAILED People's accounts .*Fix: Set SECRETS_KEYS/,
  ],
  [
    "tools that need people's accounts, and no sign-in",
    {
      answers: {
        "GET /ready": () =>
          Response.json({
            provider: "ok",
            accounts: "off",
            missing: ["AUTH_STRATEGY"],
          }),
      },
    },
    /^FAILED People's accounts .*Fix: Set AUTH_STRATEGY=oauth/,
  ],
  [
    "tools that act at a service where the server is not registered",
    {
      answers: {
        "GET /ready": () =>
          Response.json({
            provider: "ok",
            accounts: "off",
            missing: ["ACCOUNT_CRM_CLIENT_ID"],
          }),
      },
    },
    /^FAILED People's accounts .*Fix: Register an application there, with \S+\/connect\/SERVICE\/callback as its redirect URI, and set ACCOUNT_CRM_CLIENT_ID/,
  ],
  [
    "tools that act at a service behind a provider that exchanges no tokens",
    {
      answers: {
        "GET /ready": () =>
          Response.json({
            provider: "ok",
            accounts: "off",
            missing: ["OAUTH_PROVIDER"],
          }),
      },
    },
    /^FAILED People's accounts .*start of the server says of OAUTH_PROVIDER/,
  ],
  [
    "calls that wait for an approval that no one can give",
    {
      answers: {
        "GET /ready": () =>
          Response.json({
            provider: "ok",
            approvals: [
              "No one can approve calls, because no one can sign in here. Use AUTH_STRATEGY=oauth",
              "Some scopes go to no one. Add: *=pay",
            ],
          }),
      },
    },
    /^FAILED Approvals .*no one can sign in here\. Some scopes go to no one\. Fix: Use AUTH_STRATEGY=oauth\. Add: \*=pay/,
  ],
  [
    "a stream on GET /mcp",
    { answers: { "GET /mcp": () => new Response("") } },
    /^FAILED GET \/mcp .*It must be 405/,
  ],
  [
    "a 405 without Allow",
    { answers: { "GET /mcp": () => new Response("", { status: 405 }) } },
    /405 without Allow/,
  ],
  [
    "a consent page whose policy stops redirects",
    {
      answers: undefined,
      added: {
        "content-security-policy": "frame-ancestors 'none'; form-action 'self'",
      },
    },
    /^FAILED Consent page .*form-action/,
  ],
  [
    "a consent page that can be framed",
    { swallowed: ["content-security-policy"] },
    /^FAILED Consent page .*frame it/,
  ],
  [
    "an unknown code that is a server error",
    { answers: { "POST /token": () => Response.json({}, { status: 500 }) } },
    /^FAILED Token endpoint .*invalid_grant/,
  ],
  [
    "tokens that may be cached",
    { swallowed: ["cache-control"] },
    /^FAILED Token endpoint .*no-store/,
  ],
];

for (const [what, defects, expected] of CASES) {
  Deno.test(`examine() finds ${what}`, async () => {
    assert.match(await complaint(defects), expected);
  });
}

Deno.test("examine() finds a server that trusts every redirect URI", async () => {
  const bad = (await findings(fakeServer(ORIGIN, { trusting: true })))
    .filter(({ result }) => result === "failed").map(printFinding);
  assert.equal(bad.length, 2);
  assert.match(bad[0], /javascript:alert\(1\) is answered 201/);
  assert.match(bad[1], /Unregistered redirect URI: is answered 200/);
});

/** A report, without what is well. */
async function report(defects: Defects, url = ORIGIN): Promise<string[]> {
  const text = printReport(await findings(fakeServer(url, defects), url));
  return text.split("\n\n").filter((part) => !part.startsWith("Well: "));
}

const readyWith = (state: Record<string, unknown>): Defects => ({
  answers: { "GET /ready": () => Response.json({ status: "ok", ...state }) },
});

const REPORTS: [what: string, Defects, thing: RegExp, summary: string][] = [
  [
    "a BASE_URL that leads elsewhere, with all that it is the cause of",
    {
      challenge: 'Bearer resource_metadata="https://old.example' +
        '/.well-known/oauth-protected-resource/mcp"',
      answers: {
        "GET /.well-known/oauth-protected-resource/mcp": () =>
          new Response("", { status: 404 }),
      },
    },
    /^FAILED +Resource metadata .*believes it is at https:\/\/old\.example.*\n +Fix: Set BASE_URL=https:\/\/tools\.example, .*\n +Not checked because of it: Issuer .*Token endpoint \(everyone\)$/,
    "1 thing to fix.",
  ],
  [
    "a BASE_URL without TLS, told by two checks, as one thing",
    {
      resourceMetadata: { resource: "http://tools.example/mcp" },
      serverMetadata: { token_endpoint: "http://tools.example/token" },
    },
    /^FAILED +Resource metadata .*\nFAILED +Endpoints .*\n +Fix: Set BASE_URL=https:\/\/tools\.example, .*address that it has now\.$/,
    "1 thing to fix.",
  ],
  [
    "a server that refuses the address it is called by",
    { answers: { "POST /mcp": () => new Response("", { status: 403 }) } },
    /^FAILED +POST \/mcp .*403 .*by https:\/\/tools\.example\n +Fix: Set BASE_URL=https:\/\/tools\.example, .*\n +Not checked because of it: .*Challenge .*Issuer/,
    "1 thing to fix.",
  ],
  [
    "registration that is switched off as what it is",
    { serverMetadata: { registration_endpoint: undefined } },
    /^warning +Registration \(everyone\): .*\(Claude, VS Code\).*\n +Fix: Leave OAUTH_REGISTRATION unset.*\n +Not checked because of it: Registration \(Claude\).*Consent page/,
    "Nothing to fix, 1 thing to know.",
  ],
  [
    "a provider that does not answer, though all else is well",
    readyWith({ provider: "unavailable" }),
    /^FAILED +Sign-in provider .*no one can sign in\n +Fix: .*OAUTH_ISSUER/,
    "1 thing to fix.",
  ],
  [
    "a provider that is none",
    readyWith({ provider: "misbehaved" }),
    /^FAILED +Sign-in provider .*\n +Fix: Check OAUTH_ISSUER/,
    "1 thing to fix.",
  ],
  [
    "one of several providers that does not answer, by its name",
    readyWith({ providers: { work: "ok", partner: "unavailable" } }),
    /^FAILED +Sign-in provider .*partner: does not answer .* sign in there\n/,
    "1 thing to fix.",
  ],
  [
    "a database that does not answer",
    { answers: { "GET /ready": () => Response.json({}, { status: 503 }) } },
    /^FAILED +Readiness: .*\n +Fix: .*KV_PATH/,
    "1 thing to fix.",
  ],
];

for (const [what, defects, thing, summary] of REPORTS) {
  Deno.test(`printReport() tells ${what}`, async () => {
    const [first, ...rest] = await report(defects);
    assert.match(first, thing);
    assert.equal(rest.at(-1), summary);
    // The other parts are checks that could not run.
    for (const part of rest.slice(0, -1)) assert.match(part, /^Not checked: /);
  });
}

Deno.test("examine() lists what exactly is to be registered at each of several providers", async () => {
  const well = readyWith({ providers: { work: "ok", github: "ok" } });
  const found = (await findings(fakeServer(ORIGIN, well)))
    .find(({ name }) => name.startsWith("Sign-in provider"))!.found;
  assert.match(found, /exactly these are registered there/);
  for (const key of ["work", "github"]) {
    assert(found.includes(`${ORIGIN}/oauth/provider-callback/${key}`), found);
  }
});

Deno.test("examine() waits for a server that looks for its provider just now", async () => {
  let asked = 0;
  const all = await findings(fakeServer(ORIGIN, {
    answers: {
      "GET /ready": () => {
        const provider = ++asked < 3 ? "unknown" : "ok";
        return Response.json({ status: "ok", provider });
      },
    },
  }));
  const { result } = all.find(({ name }) => /provider/.test(name))!;
  assert.equal(result, "ok");
});

Deno.test("examine() does not tell a server on this machine to take metadata documents", async () => {
  const all = await findings(
    fakeServer("http://localhost:3000", {
      serverMetadata: { client_id_metadata_document_supported: false },
    }),
    "http://localhost:3000",
  );
  const { result } = all.find(({ name }) => /metadata documents/.test(name))!;
  assert.equal(result, "ok");
});

Deno.test("examine() warns that only this machine reaches a loopback server", async () => {
  assert.match(
    await complaint({}, "http://localhost:3000"),
    /^warning Public address .*Deploy it/,
  );
});

Deno.test("examine() refuses http beyond loopback", async () => {
  assert.match(
    await complaint({}, "http://tools.example"),
    /^FAILED Public address .*Put TLS in front/,
  );
});

Deno.test("examine() has nothing to say about signing in where no one does", async () => {
  const all = await findings(fakeServer(ORIGIN, {
    answers: {
      "POST /mcp": () =>
        Response.json({ jsonrpc: "2.0", id: 1, result: {} }, {
          headers: {
            "mcp-session-id": "s",
            "access-control-expose-headers": "Mcp-Session-Id, WWW-Authenticate",
          },
        }),
    },
  }));
  assert.deepEqual(all.filter(({ result }) => result === "failed"), []);
  assert.equal(all.at(-2)?.found, "no one signs in here");
  assert.match(all.at(-2)!.name, /^Challenge/);
  assert.match(all.at(-1)!.name, /^Approvals/);
});

Deno.test("examine() stops where nothing answers", async () => {
  const failed = (words: string) =>
    new TypeError("fetch failed", { cause: new Error(words) });
  const cases: [Error, RegExp][] = [
    [failed("connection refused"), /cannot be reached\. Fix: Start/],
    [
      failed("client error (Connect): invalid peer certificate: UnknownIssuer"),
      /no certificate that clients trust/,
    ],
    [
      failed("client error (Connect): dns error"),
      /is no name that leads.*use localhost/,
    ],
    [failed("invalid HTTP version parsed"), /speaks another protocol/],
    [new DOMException("", "TimeoutError"), /within 10 seconds/],
  ];
  for (const [error, expected] of cases) {
    const all = await findings(() => Promise.reject(error));
    assert.equal(all.length, 1);
    assert.match(printFinding(all[0]), expected);
  }
});
