import assert from "node:assert/strict";
import {
  parseClientMetadata,
  printRegistration,
  registerClient,
} from "../../../src/core/oauth/client.ts";
import {
  checkDocumentUrl,
  parseMetadataDocument,
} from "../../../src/core/oauth/sealed_client.ts";

const REDIRECTS = { redirect_uris: ["https://app.example.com/cb"] };
const NOW = 1_700_000_000;

Deno.test("registerClient() makes a public client out of redirect URIs alone", () => {
  const registration = registerClient(REDIRECTS, NOW);
  assert.deepEqual(printRegistration(registration), {
    client_id: registration.client.clientId,
    client_id_issued_at: NOW,
    ...REDIRECTS,
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  });
});

Deno.test("registerClient() shows a confidential client its secret once", () => {
  const { client, clientSecret } = registerClient({
    ...REDIRECTS,
    token_endpoint_auth_method: "client_secret_basic",
  }, NOW);
  assert.equal(clientSecret?.length, 43);
  assert(!JSON.stringify(client).includes(clientSecret));
  assert.equal(
    printRegistration({ client, clientSecret }).client_secret_expires_at,
    0,
  );
});

Deno.test("registerClient() takes Cursor's three kinds of redirect at once", () => {
  const { client } = registerClient({
    client_name: "Cursor",
    application_type: "web",
    redirect_uris: [
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "http://localhost:8787/callback",
      "https://www.cursor.com/agents/mcp/oauth/callback",
    ],
  }, NOW);
  assert.equal(client.metadata.redirect_uris.length, 3);
});

Deno.test("parseClientMetadata() drops nulls, empty texts and what it does not know", () => {
  assert.deepEqual(
    parseClientMetadata({
      ...REDIRECTS,
      client_name: null,
      logo_uri: "",
      shoe_size: 43,
      grant_types: ["authorization_code", "implicit"],
      response_types: ["code", "token"],
    }),
    {
      ...REDIRECTS,
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  );
});

/** The longest and the most that a member may have. */
const LIMITS: [string, (size: number) => unknown, number][] = [
  ["client_name", text, 200],
  ["software_id", text, 200],
  ["software_version", text, 200],
  ["scope", text, 1000],
  ["client_uri", text, 2048],
  ["logo_uri", text, 2048],
  ["tos_uri", text, 2048],
  ["policy_uri", text, 2048],
  ["contacts", (count) => Array(count).fill("a@example.com"), 10],
  ["contacts", (length) => [text(length)], 200],
  ["jwks", (count) => ({ keys: Array(count).fill({ kty: "EC" }) }), 20],
  ["jwks_uri", (length) => web(length), 1024],
  ["grant_types", (count) => choices("authorization_code", count), 20],
  ["grant_types", (size) => ["authorization_code", text(size)], 100],
  ["response_types", (count) => choices("code", count), 20],
  ["response_types", (size) => ["code", text(size)], 100],
  [
    "token_endpoint_auth_methods_supported",
    (count) => choices("none", count),
    20,
  ],
  ["redirect_uris", (count) => Array(count).fill("https://a.example/cb"), 20],
  ["redirect_uris", (length) => [web(length)], 2048],
];

function text(length: number): string {
  return "x".repeat(length);
}

function web(length: number): string {
  return "https://a.example/".padEnd(length, "x");
}

function choices(first: string, count: number): string[] {
  return [first, ...Array(count - 1).fill("other")];
}

for (const [member, make, limit] of LIMITS) {
  Deno.test(`parseClientMetadata() takes ${member} up to ${limit}, and not beyond`, () => {
    parseClientMetadata({ ...REDIRECTS, [member]: make(limit) });
    assert.throws(
      () => parseClientMetadata({ ...REDIRECTS, [member]: make(limit + 1) }),
      {
        code: member === "redirect_uris"
          ? "invalid_redirect_uri"
          : "invalid_client_metadata",
      },
    );
  });
}

for (const member of ["client_uri", "logo_uri", "software_id"]) {
  Deno.test(`parseClientMetadata() refuses a line break in ${member}`, () => {
    assert.throws(
      () => parseClientMetadata({ ...REDIRECTS, [member]: "a\nb" }),
      { code: "invalid_client_metadata" },
    );
  });
}

Deno.test("parseClientMetadata() refuses in the characters of error_description", () => {
  assert.throws(() => parseClientMetadata({ ...REDIRECTS, client_uri: 1 }), {
    description: "client_uri must be as in section 2 of RFC 7591",
  });
});

for (const member of ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]) {
  Deno.test(`parseClientMetadata() refuses a key with its private member ${member}`, () => {
    assert.throws(
      () =>
        parseClientMetadata({
          ...REDIRECTS,
          jwks: { keys: [{ kty: "EC" }, { kty: "EC", [member]: "secret" }] },
        }),
      {
        code: "invalid_client_metadata",
        description: "jwks must be a set of at most 20 public keys, without " +
          "private members",
      },
    );
  });
}

const URL = "https://app.example.com/client.json";
const DOCUMENT = { client_id: URL, client_name: "App", ...REDIRECTS };

Deno.test("parseMetadataDocument() gives a client that its domain vouches for", () => {
  const client = parseMetadataDocument(URL, DOCUMENT, NOW);
  assert.equal(client.clientId, URL);
  assert.equal(client.domain, "app.example.com");
  assert.equal(client.secretFingerprint, undefined);
});

Deno.test("checkDocumentUrl() takes https with a path", () => {
  checkDocumentUrl(URL, []);
  checkDocumentUrl("https://vscode.dev/oauth/client-metadata.json", [
    "vscode.dev",
  ]);
  checkDocumentUrl("https://app.example.com/a/b?v=1", []);
});

Deno.test("parseClientMetadata() keeps the grant types that a client of its kind may use", () => {
  const jwt = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  const all = ["authorization_code", "client_credentials", jwt];
  const kept = (options: Parameters<typeof parseClientMetadata>[1]) =>
    parseClientMetadata({ ...REDIRECTS, grant_types: all }, options)
      .grant_types;
  assert.deepEqual(kept({}), ["authorization_code"]);
  assert.deepEqual(kept({ vouched: true }), ["authorization_code", jwt]);
  assert.deepEqual(kept({ machines: true }), all);
});

Deno.test("parseClientMetadata() asks no page of who never shows one", () => {
  for (
    const grantType of [
      "client_credentials",
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ]
  ) {
    const bare = { grant_types: [grantType] };
    parseClientMetadata(bare, { machines: true });
    assert.throws(
      () => parseClientMetadata({ ...REDIRECTS, ...bare }, { vouched: true }),
      { code: "invalid_client_metadata" },
    );
  }
});

Deno.test("parseClientMetadata() takes native applications", () => {
  const found = parseClientMetadata({
    ...REDIRECTS,
    application_type: "native",
  });
  assert.equal(found.application_type, "native");
});

Deno.test("parseClientMetadata() refuses what is no object as such", () => {
  for (const body of ["text", 1, true, null, [REDIRECTS]]) {
    assert.throws(() => parseClientMetadata(body), {
      code: "invalid_client_metadata",
    });
  }
});

Deno.test("parseClientMetadata() offers no choice between secrets", () => {
  const found = parseClientMetadata({
    ...REDIRECTS,
    token_endpoint_auth_methods_supported: [
      "client_secret_basic",
      "private_key_jwt",
      "none",
      "unheard_of",
    ],
  });
  assert.deepEqual(found.token_endpoint_auth_methods_supported, [
    "private_key_jwt",
    "none",
  ]);
});
