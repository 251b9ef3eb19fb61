/**
 * Every parser refuses with its own error or gives a correct value.
 *
 * @module
 */
import { scopesOf } from "../../src/authoring/scope.ts";
import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { parseAddress, parseNetwork } from "../../src/core/net/address.ts";
import { isPublicAddress } from "../../src/core/auth/clients/fetch_bounds.ts";
import { freshSeconds } from "../../src/core/auth/clients/fetch_document.ts";
import { clientAddress } from "../../src/core/http/client_address.ts";
import { jsonLine, terminalLine } from "../../src/core/log/log_line.ts";
import {
  authorizationResponseUrl,
  parseAuthorizationRequest,
} from "../../src/core/oauth/authorization_request.ts";
import { parseBearer, printChallenge } from "../../src/core/auth/doors/gate.ts";
import {
  documentUrl,
  parseClientMetadata,
  registerClient,
} from "../../src/core/oauth/client.ts";
import {
  parseClientCredentials,
  verifyClientAssertion,
} from "../../src/core/auth/clients/client_directory.ts";
import { parseCredential } from "../../src/core/oauth/credential.ts";
import {
  parseMetadataDocument,
  unsealClient,
} from "../../src/core/oauth/sealed_client.ts";
import { Parameters } from "../../src/core/oauth/parameters.ts";
import { checkCodeVerifier, codeChallenge } from "../../src/core/oauth/pkce.ts";
import {
  checkRedirectUri,
  isRegisteredRedirectUri,
} from "../../src/core/oauth/redirect_uri.ts";
import { parseScope, printScope } from "../../src/core/oauth/scope.ts";
import { displayName } from "../../src/core/pages/names.tsx";
import { FormError, parseAnswer } from "../../src/core/protocol/elicitation.ts";
import {
  decodeHeaderValue,
  Meta,
  parseStatelessMeta,
} from "../../src/core/protocol/request_meta.ts";
import {
  parseMessage,
  readBody,
  salvageId,
} from "../../src/core/protocol/messages.ts";
import { openRequestState } from "../../src/core/protocol/input_rounds.ts";
import { parseUriTemplate } from "../../src/core/catalogue/uri_template.ts";
import { ChallengeError } from "../../src/core/errors.ts";
import { BASE_URL } from "../kit/server.ts";
import { REDIRECT_URI } from "../kit/client.ts";
import {
  headerTexts,
  json,
  nearly,
  nearlyParameters,
  texts,
} from "./inputs.ts";
import { parsed, type Property, property } from "./property.ts";

const NOW = 1_800_000_000;
const KEY = new Uint8Array(32);
const LOOPBACK =
  /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?([/?]|$)/;

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const messages = nearly({
  jsonrpc: fc.constant("2.0"),
  id: fc.oneof(fc.integer(), texts),
  method: texts,
  params: nearly({ _meta: nearly({ progressToken: texts }) }),
});

const parameters = nearlyParameters({
  response_type: fc.constant("code"),
  redirect_uri: fc.constant(REDIRECT_URI),
  code_challenge: fc.constant("a".repeat(43)),
  code_challenge_method: fc.constant("S256"),
  resource: fc.constant(`${BASE_URL}/mcp`),
  scope: texts,
  state: texts,
  grant_type: fc.constantFrom("authorization_code", "refresh_token"),
  code: texts,
  code_verifier: texts,
  refresh_token: texts,
  client_id: texts,
});

const metadata = nearly({
  redirect_uris: fc.array(texts, { minLength: 1, maxLength: 3 }),
  client_name: texts,
  token_endpoint_auth_method: fc.constantFrom("none", "private_key_jwt"),
  grant_types: fc.array(
    fc.constantFrom("authorization_code", "refresh_token", "password"),
  ),
  scope: texts,
  jwks_uri: texts,
  client_uri: texts,
});

const { client } = registerClient({ redirect_uris: [REDIRECT_URI] }, NOW);

/** One property for each parser. */
export const PARSERS: readonly Property[] = [
  property("parseMessage() keeps the id", messages, async (value) => {
    const message = await parsed(() => parseMessage(value));
    if (message?.kind === "request") assert.equal(message.id, value.id);
    salvageId(value);
  }),
  property("parseMessage() takes any JSON", json, async (value) => {
    await parsed(() => parseMessage(value));
    salvageId(value);
  }),
  property(
    "readBody() gives what was sent",
    fc.oneof(json.map((value) => JSON.stringify(value) ?? ""), texts),
    async (text) => {
      const request = new Request(BASE_URL, { method: "POST", body: text });
      const body = await parsed(() => readBody(request));
      if (body !== undefined) {
        assert.deepEqual(body.value, JSON.parse(text.toWellFormed()));
      }
    },
  ),
  property(
    "readBody() takes any bytes",
    fc.uint8Array({ maxLength: 600 }),
    (bytes) => {
      const body = bytes as Uint8Array<ArrayBuffer>;
      const request = new Request(BASE_URL, { method: "POST", body });
      return parsed(() => readBody(request));
    },
  ),
  property("decodeHeaderValue() undoes its encoding", texts, async (text) => {
    await parsed(() => decodeHeaderValue(text));
    const whole = text.toWellFormed();
    const bytes = new TextEncoder().encode(whole);
    const encoded = btoa(String.fromCharCode(...bytes));
    assert.equal(decodeHeaderValue(`=?base64?${encoded}?=`), whole);
  }),
  property(
    "parseStatelessMeta() gives capabilities and a known level",
    nearly({
      [Meta.protocolVersion]: fc.constant("2026-07-28"),
      [Meta.clientCapabilities]: fc.constant({}),
      [Meta.clientInfo]: nearly({ name: texts, version: texts }),
      [Meta.logLevel]: fc.constantFrom("debug", "info"),
    }),
    async (meta) => {
      const found = await parsed(() => parseStatelessMeta(meta));
      if (found) assert.equal(typeof found.clientCapabilities, "object");
    },
  ),
  property(
    "parseUriTemplate() finds what it was made of",
    fc.tuple(texts, texts),
    async ([template, uri]) => {
      const found = await parsed(() => parseUriTemplate(template), SyntaxError);
      const values = found?.match(uri);
      if (values) {
        assert.equal(Object.keys(values).length, found!.variables.length);
      }
    },
  ),
  property(
    "parseAnswer() gives what fits its form",
    nearly({
      action: fc.constantFrom("accept", "decline", "cancel"),
      content: nearly({ name: texts, age: fc.integer() }),
    }),
    async (answer) => {
      const schema = z.object({ name: z.string(), age: z.int().optional() });
      const found = await parsed(
        () => parseAnswer({ message: "?", schema }, answer),
        FormError,
      );
      if (found?.action === "accept") schema.parse(found.content);
    },
  ),
  property("openRequestState() opens nothing foreign", json, async (text) => {
    const binding = { caller: "x", method: "tools/call", params: {} };
    const found = await parsed(() => openRequestState(KEY, text, binding, NOW));
    assert.equal(found, undefined);
  }),
  property("unsealClient() opens nothing foreign", texts, async (text) => {
    assert.equal(await unsealClient(KEY, text), undefined);
    const long = `${"a".repeat(22)}.${text}`;
    assert.equal(await unsealClient(KEY, long), undefined);
  }),
  property(
    "parseAuthorizationRequest() gives registered addresses and S256",
    parameters,
    async (entries) => {
      const request = await parsed(() =>
        parseAuthorizationRequest(new Parameters(entries), {
          client,
          baseUrl: BASE_URL,
          scopes: scopesOf(["mail:read"]),
        })
      );
      if (request === undefined) return;
      assert.equal(request.redirectUri, REDIRECT_URI);
      assert.equal(request.resource, `${BASE_URL}/mcp`);
      assert.match(request.codeChallenge, /^[\w-]{43}$/);
    },
  ),
  property(
    "parseClientCredentials() names a client, or refuses",
    fc.tuple(
      fc.oneof(
        fc.constant(null),
        headerTexts,
        headerTexts.map((text) => `Basic ${btoa(text)}`),
      ),
      nearlyParameters({
        client_id: texts,
        client_secret: texts,
        client_assertion: texts,
        client_assertion_type: fc.constant(
          "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ),
      }),
    ),
    async ([authorization, entries]) => {
      const found = await parsed(() =>
        parseClientCredentials(authorization, new Parameters(entries))
      );
      if (found) assert.notEqual(found.clientId, "");
    },
  ),
  property("verifyClientAssertion() believes no one", texts, async (text) => {
    const { client } = registerClient({
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [] },
    }, NOW);
    const found = await parsed(() =>
      verifyClientAssertion(client, text, {
        keys: { keys: [] },
        audiences: [BASE_URL],
        now: NOW,
      })
    );
    assert.equal(found, undefined);
  }),
  property("parseClientMetadata() keeps its bounds", metadata, async (body) => {
    const found = await parsed(() => parseClientMetadata(body));
    if (found === undefined) return;
    for (const uri of found.redirect_uris) checkRedirectUri(uri);
    assert(found.grant_types.includes("authorization_code"));
    assert(!CONTROL.test(found.client_name ?? ""));
    if (found.jwks_uri !== undefined) assert(documentUrl(found.jwks_uri));
  }),
  property(
    "parseMetadataDocument() is about its own address",
    metadata,
    async (body) => {
      const url = "https://app.example.com/client.json";
      const found = await parsed(() => parseMetadataDocument(url, body, NOW));
      if (found) assert.equal((body as { client_id: string }).client_id, url);
    },
  ),
  property(
    "checkRedirectUri() lets nothing through that runs",
    texts,
    async (uri) => {
      const kind = await parsed(() => checkRedirectUri(uri));
      if (kind === undefined) return;
      assert(!uri.includes("#") && !CONTROL.test(uri));
      assert(!/^(javascript|data|file|vbscript|blob|about):/i.test(uri));
      if (kind === "https") {
        const url = new URL(uri);
        assert.equal(url.protocol, "https:");
        assert.equal(url.username, "");
      }
      if (kind === "loopback") assert(/^https?:/.test(uri));
      if (uri.startsWith("http:")) assert.match(uri, LOOPBACK);
    },
  ),
  property(
    "isRegisteredRedirectUri() takes the same text, or another loopback port",
    fc.tuple(texts, texts),
    ([requested, registered]) => {
      if (!isRegisteredRedirectUri(requested, [registered])) return;
      if (requested === registered) return;
      assert.match(requested, LOOPBACK);
      assert.match(registered, LOOPBACK);
    },
  ),
  property("documentUrl() means one https address", texts, (text) => {
    if (!documentUrl(text)) return;
    const url = new URL(text);
    assert.equal(url.href, text);
    assert.equal(url.protocol, "https:");
    assert.equal(url.port, "");
  }),
  property(
    "authorizationResponseUrl() leads to the redirect URI",
    texts,
    async (state) => {
      await Promise.resolve();
      const url = authorizationResponseUrl(
        { redirectUri: REDIRECT_URI, state },
        { code: "x" },
        BASE_URL,
      );
      assert(url.startsWith(`${REDIRECT_URI}?`));
      assert.equal(new URL(url).searchParams.get("iss"), BASE_URL);
      assert.equal(new URL(url).searchParams.get("code"), "x");
    },
  ),
  property("parseScope() and printScope() agree", texts, async (text) => {
    const scopes = await parsed(() => parseScope(text));
    if (scopes) assert.deepEqual(parseScope(printScope(scopes)), scopes);
  }),
  property("parseCredential() knows its own form", texts, (text) => {
    const found = parseCredential(text);
    if (found) assert.match(text, /^ts[car]_[\w-]{66}$/);
  }),
  property(
    "checkCodeVerifier() takes the right one only",
    texts,
    async (text) => {
      const right = "v".repeat(43);
      try {
        checkCodeVerifier(text, codeChallenge(right));
      } catch {
        return;
      }
      await Promise.resolve();
      assert.equal(text, right);
    },
  ),
  property("a challenge is one header line", texts, (text) => {
    parseBearer(text);
    const refusal = new ChallengeError(text, "invalid_token", [text]);
    const printed = printChallenge(refusal, { resource_metadata: text });
    new Headers({ "www-authenticate": printed });
    assert(!/[\r\n]/.test(printed));
    assert.equal((printed.match(/"/g) ?? []).length, 8);
  }),
  property(
    "clientAddress() believes no stranger",
    fc.tuple(
      fc.constantFrom("192.0.2.1", "10.0.0.1", "::1"),
      headerTexts,
      headerTexts,
    ),
    ([peer, forwarded, forwardedFor]) => {
      const headers = new Headers({
        forwarded,
        "x-forwarded-for": forwardedFor,
      });
      assert.deepEqual(clientAddress(peer, headers, []), parseAddress(peer));
      clientAddress(peer, headers, [parseNetwork("0.0.0.0/0")!]);
    },
  ),
  property("an address is one address", texts, (text) => {
    const address = parseAddress(text);
    if (address) assert(address.bits < 1n << BigInt(address.width));
    parseNetwork(text);
    isPublicAddress(text);
  }),
  property(
    "freshSeconds() is no negative and no nonsense",
    headerTexts,
    (text) => {
      for (const name of ["cache-control", "expires", "age", "date"]) {
        const seconds = freshSeconds(new Headers({ [name]: text }), NOW);
        assert(seconds >= 0 && Number.isFinite(seconds), String(seconds));
      }
    },
  ),
  property("displayName() is one line that hides nothing", texts, (text) => {
    const name = displayName(text);
    assert(!CONTROL.test(name) && !/[\u202a-\u202e\u2066-\u2069]/.test(name));
    assert(name.length > 0);
  }),
  property("a log line is one line", fc.tuple(texts, json), ([text, value]) => {
    const event = {
      timestamp: 0,
      level: "info" as const,
      category: "x",
      message: text,
      properties: { text, value },
    };
    assert(!CONTROL.test(jsonLine(event)));
    JSON.parse(jsonLine(event));
    assert(!CONTROL.test(terminalLine(event)));
  }),
];
