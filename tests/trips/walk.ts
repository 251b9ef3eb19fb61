/**
 * Everything a client does, step by step: it signs in, opens a session, calls,
 * answers a question, refreshes, and leaves.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Grant } from "../../src/core/oauth/grant.ts";
import type { Answering } from "../kit/server.ts";
import { browserOf } from "../kit/browser.ts";
import { Client, REDIRECT_URI, type TokenAnswer } from "../kit/client.ts";
import { Events, messagesOf } from "../kit/answer.ts";
import { type HeadersOf, initialize, type Json, rpc } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import {
  BEARER_TOKEN,
  type Door,
  Processes,
  quickTools,
  type Steps,
  type Surroundings,
} from "./processes.ts";

const DOCUMENT_URL = "https://app.example.com/client.json";

/** True once the first use of every access token has been stored. */
async function areReplaysEnding(kv: Deno.Kv): Promise<boolean> {
  const grants = await Array.fromAsync(kv.list<Grant>({ prefix: ["grant"] }));
  return grants.every(({ value: { refreshTokens } }) =>
    !refreshTokens?.exchange || refreshTokens.exchange.replayUntil !== undefined
  );
}

/** Walks from registration to revocation. */
export async function walkSignIn(surroundings: Surroundings): Promise<void> {
  await using processes = new Processes("oauth", surroundings);
  const client = await Client.register(processes.as("register"));
  const tokens = await signIn(processes, client);
  const refreshed = await refresh(processes.as("refresh"), client, tokens);
  await refresh(processes.as("refresh whose answer was lost"), client, tokens);

  // The session ends with the grant.
  const headers = authorizationOf(refreshed.access_token);
  await openSession(processes.as("first use of an access token"), headers);
  await until(() => areReplaysEnding(surroundings.kv));
  const session = await openSession(processes.as("initialize"), headers);
  await call(
    processes.as("call with the provider"),
    { ...headers, ...session },
    { name: "upstream", arguments: {} },
  );
  for (
    const [step, token] of [
      ["revoke an access token", refreshed.access_token],
      ["revoke", refreshed.refresh_token],
    ]
  ) {
    const body = new URLSearchParams({ client_id: client.clientId, token });
    const response = await processes.as(step)
      .fetch("/revoke", { method: "POST", body });
    assert.equal(response.status, 200);
  }
}

/**
 * Walks a refresh for which the provider's tokens have to be refreshed as well.
 */
export async function walkProviderRefresh(
  surroundings: Surroundings,
): Promise<void> {
  await using processes = new Processes("oauth", surroundings);
  processes.provider.ttlSeconds = 30;
  const client = await Client.register(processes.as("register"));
  const tokens = await signIn(processes, client);
  await refresh(processes.as("refresh, at the provider too"), client, tokens);
}

/** Walks the sign-in of a client with a metadata document. */
export async function walkDocumentSignIn(
  surroundings: Surroundings,
): Promise<void> {
  const document = {
    client_id: DOCUMENT_URL,
    client_name: "App",
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: "none",
  };
  const expiresAt = Date.now() / 1000 + 3600;
  await using processes = new Processes(
    "oauth",
    surroundings,
    { fetchDocument: () => Promise.resolve({ document, expiresAt }) },
  );
  // Once fetched, it is in the database.
  const server = processes.as("browse");
  const first = await browserOf(server)
    .open(new Client(server, DOCUMENT_URL).authorizationUrl());
  assert.equal(first.status, 200, first.text);
  const client = new Client(server, DOCUMENT_URL);
  const tokens = await signIn(processes, client);
  await refresh(processes.as("refresh"), client, tokens);
}

/** Walks from `initialize` to DELETE. */
export async function walkSession(
  door: Door,
  surroundings: Surroundings,
): Promise<void> {
  const options = { tools: quickTools };
  await using processes = new Processes(door, surroundings, options);
  await walkThroughSession(processes, await credentials(door, processes));
}

/** Walks the same at any server, as a caller with some headers. */
export async function walkThroughSession(
  processes: Steps,
  admitted: HeadersOf = {},
): Promise<void> {
  const session = await openSession(processes.as("initialize"), admitted);
  const headers = { ...admitted, ...session };
  await send(processes.as("initialized"), headers, {
    jsonrpc: "2.0",
    method: "notifications/initialized",
  });
  const echo = { name: "echo", arguments: { text: "hello" } };
  await call(processes.as("call"), headers, echo);
  await call(processes.as("next call"), headers, echo);
  await processes.step("elicitation", () => beAsked(processes, headers));
  const response = await processes.as("end")
    .fetch("/mcp", { method: "DELETE", headers });
  assert(response.ok, String(response.status));
}

/** Walks many refreshes at the same moment, each of another person's client. */
export async function walkManyRefreshes(
  count: number,
  surroundings: Surroundings,
): Promise<void> {
  await using processes = new Processes("oauth", surroundings);
  const silent = processes.as("sign in");
  const connected = await Promise.all(
    Array.from({ length: count }, async () => {
      const client = await Client.register(silent);
      return { client, tokens: await client.connect() };
    }),
  );
  await processes.step(`${count} refreshes at once`, () =>
    Promise.all(
      connected.map(({ client, tokens }) =>
        refresh(processes.as("refresh"), client, tokens)
      ),
    ));
}

/** Walks a client to its tokens. */
export async function signIn(
  processes: Processes,
  client: Client,
): Promise<Json> {
  const browser = browserOf(processes.as("browse"));
  const code = await client.signIn({ browser });
  client.server = processes.as("token");
  return accepted(await client.redeem(code));
}

export async function refresh(
  server: Answering,
  client: Client,
  tokens: Json,
): Promise<Json> {
  client.server = server;
  return accepted(await client.refresh(tokens.refresh_token));
}

function accepted({ status, body }: TokenAnswer): Json {
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function credentials(
  door: Door,
  processes: Processes,
): Promise<HeadersOf> {
  switch (door) {
    case "none":
      return {};
    case "bearer":
      return authorizationOf(BEARER_TOKEN);
    case "oauth": {
      const client = await Client.register(processes.as("register"));
      const tokens = await signIn(processes, client);
      return authorizationOf(tokens.access_token);
    }
  }
}

export function authorizationOf(token: string): HeadersOf {
  return { authorization: `Bearer ${token}` };
}

async function openSession(
  server: Answering,
  headers: HeadersOf,
): Promise<HeadersOf> {
  const message = initialize("2025-11-25", { elicitation: {} });
  const response = await send(server, headers, message);
  return { "mcp-session-id": response.headers.get("mcp-session-id")! };
}

async function call(
  server: Answering,
  headers: HeadersOf,
  params: Json,
): Promise<void> {
  const response = await send(server, headers, rpc("tools/call", params));
  const [{ result }] = await messagesOf(response);
  assert(!result.isError, JSON.stringify(result));
}

/** Calls a tool that asks; the answer is sent in another request. */
async function beAsked(processes: Steps, headers: HeadersOf): Promise<void> {
  const message = rpc("tools/call", { name: "confirm", arguments: {} });
  const asked = await send(processes.as("question"), headers, message);
  const events = new Events(asked);
  const { id } = await events.read();
  const result = { action: "accept", content: {} };
  const answer = { jsonrpc: "2.0", id, result };
  await send(processes.as("answer"), headers, answer);
  const told = await events.read();
  assert.equal(told.result.content[0].text, "accept");
  await events.close();
}

async function send(
  server: Answering,
  headers: HeadersOf,
  message: Json,
): Promise<Response> {
  const body = JSON.stringify(message);
  const response = await server.fetch("/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": String(body.length),
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body,
  });
  assert(response.ok, String(response.status));
  return response;
}
