/**
 * Every endpoint answers any input: never with an internal error, never with
 * more than was asked for.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { resource } from "../../src/authoring/resource.ts";
import {
  DocumentError,
  NoDocument,
} from "../../src/core/auth/clients/fetch_bounds.ts";
import { tool } from "../../src/authoring/tool.ts";
import { skill } from "../../src/skill.ts";
import * as z from "zod";
import { checkRedirectUri } from "../../src/core/oauth/redirect_uri.ts";
import { BASE_URL } from "../kit/server.ts";
import { Client, REDIRECT_URI } from "../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";
import { initialize, statelessMeta } from "../kit/message.ts";
import {
  headerTexts,
  json,
  nearly,
  nearlyParameters,
  texts,
} from "./inputs.ts";
import { type Property, property } from "./property.ts";

const METHODS = [
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/directory/read",
  "resources/subscribe",
  "prompts/list",
  "prompts/get",
  "skills/list",
  "skills/get",
  "completion/complete",
  "logging/setLevel",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "notifications/cancelled",
  "notifications/initialized",
];

const ask = tool({
  name: "ask",
  async run(_, { ask }) {
    const schema = z.object({ name: z.string() });
    const { action } = await ask({ message: "Who?", schema });
    return action;
  },
});

const echo = tool({
  name: "echo",
  input: z.object({ text: z.string().meta({ "x-mcp-header": "Text" }) }),
  run: ({ text }) => text,
});

const mail = resource({
  uri: "mail://{id}",
  name: "mail",
  read: ({ id }) => `mail ${id}`,
});

/** A server, and the credentials of an honest client. */
interface World {
  server: OAuthServer;
  client: Client;
  auth: string;
  session: string;
  code: string;
}

async function createWorld(): Promise<World> {
  const server = await startOAuthServer({
    tools: [ask, echo],
    resources: [mail],
    skills: [skill("---\nname: post\ndescription: Sends mail\n---\n")],
    // No document is fetched for a client whose id is an address.
    fetchDocument: () => {
      throw new DocumentError({ cause: new NoDocument("There is none") });
    },
  });
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const auth = `Bearer ${access_token}`;
  const opened = await server.post(initialize("2025-11-25"), {
    authorization: auth,
  });
  await opened.body?.cancel();
  const session = opened.headers.get("mcp-session-id")!;
  // Its verifier is not known here.
  const waiting = new Client(server, client.clientId);
  return { server, client, auth, session, code: await waiting.signIn() };
}

let requests = 0;

/** Sends one request from its own network, so that none is rate limited. */
async function send(
  { server }: World,
  path: string,
  init: RequestInit,
): Promise<{ status: number; headers: Headers; text: string }> {
  const number = Math.floor(++requests / 10);
  const hostname = `10.${number >> 16 & 255}.${number >> 8 & 255}.${
    number & 255
  }`;
  const leaving = new AbortController();
  const response = await server.app.fetch(
    new Request(BASE_URL + path, { signal: leaving.signal, ...init }),
    { remoteAddr: { hostname } },
  );
  const { status, headers } = response;
  // A stream may go on until its question is answered.
  const isStream = headers.get("content-type") === "text/event-stream";
  if (isStream) await response.body!.cancel();
  const text = isStream ? "" : await response.text();
  assert(status < 500, `${status} ${text}`);
  assert(!/Internal error|server_error/.test(text), text);
  return { status, headers, text };
}

const JSON_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

function assertEchoed(body: unknown, text: string): void {
  if (text === "") return;
  const answer = JSON.parse(text);
  if (Array.isArray(answer) || answer.id === undefined) return;
  // JSON has no negative zero.
  const { id } = JSON.parse(JSON.stringify(body));
  assert.deepEqual(answer.id, id);
}

function form(
  world: World,
  path: string,
  entries: [string, string][],
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams(
    entries.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
  );
  return send(world, path, { method: "POST", headers, body });
}

/** Makes one property for each endpoint; they share a world. */
export function surface(world: () => World): Property[] {
  const clientIds = fc.constant(null).map(() => world().client.clientId);
  return [
    property(
      "2026 answers any request with its own id",
      fc.tuple(
        nearly({
          jsonrpc: fc.constant("2.0"),
          id: fc.oneof(fc.integer(), texts),
          method: fc.constantFrom(...METHODS),
          params: nearly({
            name: fc.constantFrom("echo", "ask"),
            uri: fc.constant("mail://1"),
            arguments: nearly({ text: texts }),
            requestState: texts,
            inputResponses: json,
            taskId: texts,
            cursor: texts,
            ref: nearly({
              type: fc.constant("ref/resource"),
              uri: fc.constant("mail://{id}"),
            }),
            argument: nearly({ name: fc.constant("id"), value: texts }),
            _meta: fc.constantFrom(
              statelessMeta(),
              statelessMeta({ elicitation: {} }),
            ),
          }),
        }),
        headerTexts,
      ),
      async ([body, header]) => {
        const { method, params } = body as {
          method: string;
          params: Record<string, unknown>;
        };
        const name = params?.name ?? params?.uri ?? params?.taskId;
        const headers = new Headers({
          ...JSON_HEADERS,
          authorization: world().auth,
          "mcp-protocol-version": "2026-07-28",
          "mcp-param-text": header,
        });
        if (METHODS.includes(method)) headers.set("mcp-method", method);
        headers.set("mcp-name", encoded(name));
        const { text } = await send(world(), "/mcp", {
          method: "POST",
          headers,
          body: JSON.stringify(body),
        });
        assertEchoed(body, text);
      },
    ),
    property(
      "2025 answers any message in a session",
      nearly({
        jsonrpc: fc.constant("2.0"),
        id: fc.oneof(fc.integer(), texts),
        method: fc.constantFrom(...METHODS),
        params: nearly({
          name: fc.constant("echo"),
          arguments: nearly({ text: texts }),
          uri: texts,
          requestId: texts,
          level: fc.constant("info"),
          _meta: nearly({ progressToken: texts }),
          protocolVersion: texts,
        }),
        result: fc.constant(undefined),
      }),
      async (body) => {
        const { text } = await send(world(), "/mcp", {
          method: "POST",
          headers: {
            ...JSON_HEADERS,
            authorization: world().auth,
            "mcp-session-id": world().session,
          },
          body: JSON.stringify(body),
        });
        assertEchoed(body, text);
      },
    ),
    property(
      "/mcp answers any JSON and any headers",
      fc.tuple(json, headerTexts, headerTexts, headerTexts),
      async ([body, version, session, origin]) => {
        await send(world(), "/mcp", {
          method: "POST",
          headers: {
            ...JSON_HEADERS,
            authorization: world().auth,
            "mcp-protocol-version": version,
            "mcp-session-id": session,
            origin,
          },
          body: JSON.stringify(body) ?? "",
        });
      },
    ),
    property(
      "/mcp lets no one in by any other credential",
      headerTexts,
      async (authorization) => {
        const { status } = await send(world(), "/mcp", {
          method: "POST",
          headers: { ...JSON_HEADERS, authorization },
          body: "{}",
        });
        assert.equal(status, 401);
      },
    ),
    property(
      "/authorize redirects no one who approved nothing",
      nearlyParameters({
        client_id: clientIds,
        response_type: fc.constant("code"),
        redirect_uri: fc.constant(REDIRECT_URI),
        code_challenge: fc.constant("a".repeat(43)),
        code_challenge_method: fc.constant("S256"),
        state: texts,
        scope: texts,
        resource: fc.constant(`${BASE_URL}/mcp`),
      }),
      async (entries) => {
        const { status, headers } = await send(
          world(),
          `/authorize?${query(entries)}`,
          { headers: { accept: "text/html" } },
        );
        assert([200, 400].includes(status), String(status));
        assert.equal(headers.get("location"), null);
      },
    ),
    property(
      "/token gives no token without a code and its verifier",
      fc.tuple(
        nearlyParameters({
          grant_type: fc.constantFrom("authorization_code", "refresh_token"),
          client_id: clientIds,
          code: fc.constant(null).map(() => world().code),
          code_verifier: fc.oneof(texts, fc.stringMatching(/^[\w.~-]{43}$/)),
          refresh_token: fc.oneof(
            texts,
            fc.stringMatching(/^tsr_[\w-]{22}_[\w-]{43}$/),
          ),
          redirect_uri: texts,
          resource: fc.constant(`${BASE_URL}/mcp`),
        }),
        fc.option(headerTexts),
      ),
      async ([entries, authorization]) => {
        const { status, text } = await form(
          world(),
          "/token",
          entries,
          authorization === null ? {} : { authorization },
        );
        assert([400, 401].includes(status), `${status} ${text}`);
        assert(!text.includes("access_token"));
      },
    ),
    property(
      "/register takes no address that runs or deceives",
      fc.oneof(
        json,
        nearly({
          redirect_uris: fc.array(texts, { minLength: 1, maxLength: 3 }),
          client_name: texts,
          grant_types: fc.constant(["authorization_code"]),
          token_endpoint_auth_method: fc.constantFrom(
            "none",
            "client_secret_basic",
          ),
        }),
      ),
      async (body) => {
        const { status, text } = await send(world(), "/register", {
          method: "POST",
          headers: JSON_HEADERS,
          body: JSON.stringify(body) ?? "",
        });
        assert([201, 400, 413].includes(status), `${status} ${text}`);
        if (status !== 201) return;
        for (const uri of JSON.parse(text).redirect_uris) checkRedirectUri(uri);
      },
    ),
    property(
      "/revoke says nothing about what it does not know",
      nearlyParameters({ token: texts, client_id: clientIds }),
      async (entries) => {
        const { status } = await form(world(), "/revoke", entries);
        assert([200, 400, 401].includes(status), String(status));
      },
    ),
    property(
      "the account and consent forms obey no one",
      fc.tuple(
        fc.constantFrom(
          "/account/end",
          "/account/pause",
          "/account/narrow",
          "/account/sign-out",
          "/account/export",
          "/account/erase",
          "/authorize",
        ),
        nearlyParameters({
          csrf: texts,
          grants: texts,
          grant: texts,
          request: texts,
          decision: fc.constant("approve"),
        }),
        headerTexts,
      ),
      async ([path, entries, cookie]) => {
        const { status, headers } = await form(world(), path, entries, {
          cookie,
        });
        assert([400, 403].includes(status), String(status));
        assert.equal(headers.get("location"), null);
      },
    ),
    property(
      "any path under any method has an answer",
      fc.tuple(
        fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"),
        fc.constantFrom(
          "/",
          "/mcp",
          "/health",
          "/account",
          "/account/people",
          "/oauth/callback",
          "/oauth/provider-callback",
          "/.well-known/oauth-protected-resource",
          "/.well-known/oauth-protected-resource/mcp",
          "/.well-known/oauth-authorization-server",
          "/token",
          "/nothing",
        ),
        nearlyParameters({
          code: texts,
          state: texts,
          sid: texts,
          error: texts,
        }),
        fc.constantFrom("text/html", "application/json", "*/*"),
      ),
      async ([method, path, entries, accept]) => {
        const { headers } = await send(world(), `${path}?${query(entries)}`, {
          method,
          headers: { accept },
        });
        assert.equal(headers.get("location"), null);
      },
    ),
    property("any path at all has an answer", texts, async (text) => {
      const path = `/${encodeURIComponent(text.toWellFormed())}`;
      const { status } = await send(world(), path, {});
      assert([200, 404].includes(status), String(status));
    }),
  ];
}

/** Tries properties of all endpoints on a new server. */
export async function withWorld(
  run: (properties: readonly Property[]) => Promise<void>,
): Promise<void> {
  const world = await createWorld();
  try {
    await run(surface(() => world));
  } finally {
    await world.server[Symbol.asyncDispose]();
  }
}

function query(entries: [string, string][]): URLSearchParams {
  return new URLSearchParams(
    entries.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
  );
}

/** Encodes a name as a client would write it in `Mcp-Name`. */
function encoded(name: unknown): string {
  if (typeof name !== "string") return "";
  const bytes = new TextEncoder().encode(name);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
}
