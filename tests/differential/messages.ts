/**
 * The well-formed messages of the comparison, before anything is broken in
 * them: every method in every revision.
 *
 * @module
 */

export type Json = Record<string, unknown>;

/** The session that a message claims to belong to. */
export type SessionClaim = "open" | "none" | "unknown" | "ended";

/** One HTTP request about to be sent to both servers. */
export interface Draft {
  /** The labels of the message and of its breakages. */
  label: string[];
  /** The revision it uses, a session's or its own. */
  revision: string;
  verb: string;
  headers: Record<string, string>;
  session: SessionClaim;
  /** The JSON-RPC message; breakages change it in place. */
  message: Json;
  /** A body in place of the message: a batch, or not JSON at all. */
  body?: unknown[] | string | Uint8Array<ArrayBuffer>;
}

export const SESSION_REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25"];
export const STATELESS_REVISION = "2026-07-28";

export const META = "io.modelcontextprotocol/";

const CALLS: readonly (readonly [string, Json?])[] = [
  ["tools/list", {}],
  ["tools/list"],
  ["tools/call", { name: "echo", arguments: { text: "a", times: 2 } }],
  ["tools/call", { name: "add", arguments: { a: 1, b: 2.5 } }],
  ["tools/call", { name: "plain" }],
  ["tools/call", { name: "plain", arguments: {} }],
  ["tools/call", { name: "refuse", arguments: {} }],
  ["tools/call", { name: "fall", arguments: {} }],
  ["tools/call", { name: "route", arguments: { region: "north", size: 3 } }],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["resources/read", { uri: "doc://readme" }],
  ["resources/read", { uri: "note://work/7" }],
  ["resources/read", { uri: "doc://missing" }],
  ["prompts/list", {}],
  ["prompts/get", { name: "greeting" }],
  ["prompts/get", { name: "review", arguments: { file: "a.ts" } }],
  ["completion/complete", {
    ref: { type: "ref/prompt", name: "review" },
    argument: { name: "file", value: "m" },
  }],
  ["completion/complete", {
    ref: { type: "ref/resource", uri: "note://{folder}/{id}" },
    argument: { name: "folder", value: "w" },
  }],
  ["no/such/method", {}],
];

const SESSION_CALLS: typeof CALLS = [
  ["ping"],
  ["ping", {}],
  ["logging/setLevel", { level: "warning" }],
  ["resources/subscribe", { uri: "doc://readme" }],
  ["resources/unsubscribe", { uri: "doc://readme" }],
  ["server/discover", {}],
  ["subscriptions/listen", { notifications: {} }],
];

/** Possible answers of a person. */
const ANSWERS = [
  { action: "accept", content: { sure: true } },
  { action: "accept", content: { sure: "yes" } },
  { action: "accept" },
  { action: "decline" },
  { action: "perhaps" },
  7,
];

const STATELESS_CALLS: typeof CALLS = [
  ["tools/call", { name: "confirm" }],
  ...ANSWERS.map((sure) =>
    ["tools/call", { name: "confirm", inputResponses: { sure } }] as const
  ),
  ["tools/call", { name: "confirm", inputResponses: { other: ANSWERS[0] } }],
  ["server/discover", {}],
  ["subscriptions/listen", { notifications: { toolsListChanged: true } }],
  ["ping", {}],
  ["initialize", {}],
  ["logging/setLevel", { level: "warning" }],
  ["resources/subscribe", { uri: "doc://readme" }],
];

const NOTIFICATIONS: typeof CALLS = [
  ["notifications/initialized"],
  ["notifications/cancelled", { requestId: 9, reason: "enough" }],
  ["notifications/progress", { progressToken: 1, progress: 1 }],
  ["notifications/roots/list_changed"],
  ["notifications/made/up", { a: 1 }],
];

/** Makes the `initialize` that a client sends first. */
export function initializeDraft(revision: string): Draft {
  return {
    label: [revision, "initialize"],
    revision,
    verb: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    session: "none",
    message: {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: "differential", version: "1.0.0" },
      },
    },
  };
}

function sessionDraft(revision: string, message: Json): Draft {
  const draft = initializeDraft(revision);
  draft.label = [revision, String(message.method ?? "response")];
  draft.headers["mcp-protocol-version"] = revision;
  draft.session = "open";
  draft.message = { jsonrpc: "2.0", ...message };
  return draft;
}

function statelessDraft(message: Json): Draft {
  const draft = sessionDraft(STATELESS_REVISION, message);
  draft.session = "none";
  const { method, params = {} } = draft.message as {
    method: string;
    params?: Json;
  };
  draft.message.params = {
    ...params,
    _meta: {
      [`${META}protocolVersion`]: STATELESS_REVISION,
      [`${META}clientInfo`]: { name: "differential", version: "1.0.0" },
      [`${META}clientCapabilities`]: { elicitation: {} },
    },
  };
  draft.headers["mcp-method"] = method;
  const name = method === "resources/read" ? params.uri : params.name;
  if (typeof name === "string") draft.headers["mcp-name"] = name;
  if (name === "route") {
    draft.headers["mcp-param-region"] = "north";
    draft.headers["mcp-param-size"] = "3";
  }
  return draft;
}

/** Makers of every message, well formed; each call makes a fresh one. */
export const DRAFTS: readonly (() => Draft)[] = [
  ...SESSION_REVISIONS.flatMap((revision) => [
    () => initializeDraft(revision),
    ...[...CALLS, ...SESSION_CALLS].map(([method, params]) => () =>
      sessionDraft(revision, structuredClone({ id: 2, method, params }))
    ),
    ...NOTIFICATIONS.map(([method, params]) => () =>
      sessionDraft(revision, structuredClone({ method, params }))
    ),
    () => sessionDraft(revision, { id: 5, result: {} }),
    () => sessionDraft(revision, { id: 5, error: { code: 1, message: "" } }),
  ]),
  ...[...CALLS, ...STATELESS_CALLS].map(([method, params]) => () =>
    statelessDraft(structuredClone({ id: 2, method, params }))
  ),
  ...NOTIFICATIONS.map(([method, params]) => () =>
    statelessDraft(structuredClone({ method, params }))
  ),
];

const URL_OF_ALL = "http://127.0.0.1:3000/mcp";

/** The request of a draft. */
export function requestOf(draft: Draft, sessionId?: string): Request {
  const headers = new Headers({ host: "127.0.0.1:3000", ...draft.headers });
  if (sessionId !== undefined) headers.set("mcp-session-id", sessionId);
  const hasBody = !["GET", "HEAD"].includes(draft.verb);
  const { body = draft.message } = draft;
  return new Request(URL_OF_ALL, {
    method: draft.verb,
    headers,
    ...(hasBody && {
      body: typeof body === "string" || body instanceof Uint8Array
        ? body
        : JSON.stringify(body),
    }),
  });
}

/** The request that opens a session. */
export function initializeRequest(revision: string): Request {
  return requestOf(initializeDraft(revision));
}
