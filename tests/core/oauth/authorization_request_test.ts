import assert from "node:assert/strict";
import { scopesOf } from "../../../src/authoring/scope.ts";
import {
  authorizationResponseUrl,
  parseAuthorizationRequest,
} from "../../../src/core/oauth/authorization_request.ts";
import { registerClient } from "../../../src/core/oauth/client.ts";
import { Parameters } from "../../../src/core/oauth/parameters.ts";

const BASE_URL = "https://tools.example.com";
const { client } = registerClient({
  redirect_uris: ["https://app.example.com/cb"],
}, 0);

const GOOD = {
  response_type: "code",
  client_id: client.clientId,
  redirect_uri: "https://app.example.com/cb",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  code_challenge_method: "S256",
  state: "xyz",
  scope: "mail:read",
};

function parse(changes: Record<string, string> = {}) {
  return parseAuthorizationRequest(
    new Parameters(Object.entries({ ...GOOD, ...changes })),
    { client, baseUrl: BASE_URL, scopes: scopesOf(["mail:read"]) },
  );
}

Deno.test("parseAuthorizationRequest() reads a request", () => {
  assert.deepEqual(parse(), {
    clientId: client.clientId,
    redirectUri: GOOD.redirect_uri,
    state: "xyz",
    scopes: ["mail:read"],
    resource: "https://tools.example.com/mcp",
    codeChallenge: GOOD.code_challenge,
  });
});

Deno.test("parseAuthorizationRequest() needs no redirect_uri when one is registered", () => {
  assert.equal(parse({ redirect_uri: "" }).redirectUri, GOOD.redirect_uri);
});

for (
  const [what, given, providerHints] of [
    ["a hint and a prompt of the provider's", {
      login_hint: "jo@example.com",
      prompt: "consent select_account",
    }, { loginHint: "jo@example.com", prompts: ["select_account"] }],
    ["a prompt for the password", { prompt: "login" }, { prompts: ["login"] }],
    ["a prompt that is ours", { prompt: "consent" }, undefined],
    ["a sign-in of now", { max_age: "0" }, { prompts: ["login"] }],
    ["a sign-in of an hour ago", { max_age: "3600" }, undefined],
    ["what only OpenID Connect has", {
      claims: "{}",
      id_token_hint: "x",
      display: "popup",
    }, undefined],
    ["a hint longer than an address", {
      login_hint: "x".repeat(321),
    }, undefined],
    ["a hint of several lines", { login_hint: "jo\nx" }, undefined],
  ] as const
) {
  Deno.test(`parseAuthorizationRequest() takes for the provider what it may of ${what}`, () => {
    assert.deepEqual(parse(given).providerHints, providerHints);
  });
}

Deno.test("Parameters refuses one that is given twice, except resource", () => {
  assert.throws(() => new Parameters([["state", "1"], ["state", "2"]]), {
    code: "invalid_request",
    description: "Parameter given twice: state",
  });
  for (const name of ["a", "S3CR3T level=ERROR", 'a"\\é', "__proto__"]) {
    assert.throws(() => new Parameters([[name, "1"], [name, "2"]]), {
      code: "invalid_request",
      description: "A parameter is given twice",
    });
  }
  assert.deepEqual(
    new Parameters([["resource", "a"], ["resource", "b"]]).all("resource"),
    ["a", "b"],
  );
});

Deno.test("Parameters takes a thousand, and reads no more of them", () => {
  const most = Array<[string, string]>(1000).fill(["resource", "a"]);
  assert.equal(new Parameters(most).all("resource").length, 1000);
  const endless = (function* (): Generator<[string, string]> {
    for (let index = 0;; index++) yield [index % 2 ? "resource" : "x", ""];
  })();
  assert.throws(() => new Parameters(endless), {
    code: "invalid_request",
    description: "At most 1000 parameters",
  });
});

Deno.test("authorizationResponseUrl() appends the answer and leaves the rest alone", () => {
  const answer = (redirectUri: string, state?: string) =>
    authorizationResponseUrl({ redirectUri, state }, { code: "c" }, BASE_URL);
  const iss = "iss=https%3A%2F%2Ftools.example.com";
  assert.equal(
    answer("https://a.example/cb", "s&t"),
    `https://a.example/cb?code=c&state=s%26t&${iss}`,
  );
  assert.equal(answer("http://localhost"), `http://localhost?code=c&${iss}`);
  assert.equal(
    answer("https://a.example/cb?t=1"),
    `https://a.example/cb?t=1&code=c&${iss}`,
  );
  assert.equal(
    answer("https://a.example/cb?"),
    `https://a.example/cb?code=c&${iss}`,
  );
  assert.equal(answer("cursor://x/cb"), `cursor://x/cb?code=c&${iss}`);
});

Deno.test("parseAuthorizationRequest() takes response_mode query, and no state", () => {
  assert.equal(parse({ response_mode: "query" }).state, "xyz");
  assert.equal(parse({ state: "" }).state, undefined);
});

Deno.test("parseAuthorizationRequest() takes a state of 4096 characters and no more", () => {
  assert.equal(parse({ state: "x".repeat(4096) }).state?.length, 4096);
  assert.throws(() => parse({ state: "x".repeat(4097) }), {
    description: "state must have at most 4096 characters",
  });
});

Deno.test("parseAuthorizationRequest() asks which redirect_uri where two are registered", () => {
  const { client } = registerClient({
    redirect_uris: ["https://app.example.com/cb", "https://app.example.com/b"],
  }, 0);
  const parameters = new Parameters(
    Object.entries({ ...GOOD, redirect_uri: "" }),
  );
  assert.throws(
    () =>
      parseAuthorizationRequest(parameters, {
        client,
        baseUrl: BASE_URL,
        scopes: scopesOf([]),
      }),
    { description: "Missing parameter: redirect_uri" },
  );
});

for (
  const [code, changes] of [
    ["request_not_supported", { request: "e30.e30." }],
    ["request_uri_not_supported", { request_uri: "https://a.example/r" }],
    ["interaction_required", { prompt: "none" }],
    ["invalid_request", { prompt: "none login" }],
    ["unsupported_response_type", { response_type: "token" }],
    ["invalid_request", { response_mode: "fragment" }],
    ["invalid_target", { resource: "https://other.example.com/mcp" }],
    ["invalid_request", { redirect_uri: "https://app.example.com/other" }],
  ] as [string, Record<string, string>][]
) {
  Deno.test(`parseAuthorizationRequest() refuses ${JSON.stringify(changes)} with ${code}`, () => {
    assert.throws(() => parse(changes), { code });
  });
}

Deno.test("authorizationResponseUrl() sends an error with its description", () => {
  const error = { code: "access_denied", description: "The person said no" };
  const url = authorizationResponseUrl(
    { redirectUri: "https://a.example/cb" },
    { error: error as { code: "access_denied"; description: string } },
    BASE_URL,
  );
  const { searchParams } = new URL(url);
  assert.equal(searchParams.get("error"), error.code);
  assert.equal(searchParams.get("error_description"), error.description);
});
