/**
 * The intended differences between this server and the SDK, with their reasons.
 *
 * @module
 */
import { type Draft, type Json, META, SESSION_REVISIONS } from "./messages.ts";
import type { Outcome } from "./outcome.ts";

/** An intended difference. */
export interface Difference {
  what: string;
  /** The rule that requires it, or its advantage. */
  why: string;
  isOne(ours: Outcome, theirs: Outcome, draft: Draft): boolean;
}

/** Reads a header as the servers see it. */
function header({ headers }: Draft, name: string): string | undefined {
  return headers[name]?.trim();
}

function paramsOf({ message }: Draft): Json {
  return (message.params ?? {}) as Json;
}

/** Reads the revision that a message claims in `_meta`. */
function claimOf(draft: Draft): unknown {
  const meta = paramsOf(draft)._meta as Json | undefined;
  return meta?.[`${META}protocolVersion`];
}

function isResponse({ message }: Draft): boolean {
  return message.method === undefined;
}

function isNotification({ message, body }: Draft): boolean {
  return body === undefined && !isResponse({ message } as Draft) &&
    message.id === undefined;
}

/** True if a message has members that its kind does not have. */
function hasUnknownMembers(draft: Draft): boolean {
  const known = isResponse(draft)
    ? ["jsonrpc", "id", "result", "error"]
    : ["jsonrpc", "id", "method", "params"];
  return Object.keys(draft.message).some((name) => !known.includes(name));
}

/**
 * True if both JSON and event streams are named, as they are usually written.
 */
function namesBothTypes(accept = ""): boolean {
  return accept.includes("application/json") &&
    accept.includes("text/event-stream");
}

export const DIFFERENCES: readonly Difference[] = [
  {
    what: "anything but POST, DELETE and OPTIONS is 405, whatever it carries",
    why: "the interface: GET is always 405, and there is no stream to open",
    isOne: ({ status }) => status === 405,
  },
  {
    what: "DELETE is 202",
    why: "the interface says so",
    isOne: (ours, theirs, { verb }) =>
      verb === "DELETE" && ours.status === 202 && theirs.status === 200,
  },
  {
    what: "an Accept that is absent, a wildcard or in capitals is enough",
    why: "RFC 9110 §12.5.1: such a client takes both types",
    isOne: (ours, theirs, draft) =>
      theirs.status === 406 && ours.status !== 406 &&
      !namesBothTypes(header(draft, "accept")),
  },
  {
    what: "Accept and Content-Type are checked first, in 2026 too",
    why: "2026-07-28, Sending Messages: the client MUST list both types",
    isOne: ({ status }, theirs) =>
      (status === 406 || status === 415) && theirs.status !== 406,
  },
  {
    what: "a body that is not UTF-8 is no JSON",
    why: "RFC 8259 §8.1",
    isOne: (ours) => ours.answer === "-32700",
  },
  {
    what: "only 2025-03-26 has batches",
    why: "2025-06-18 removed them; 2026-07-28 allows one message",
    isOne: (ours, _theirs, { body }) =>
      Array.isArray(body) && ours.status === 400,
  },
  {
    what: "a batch is answered by a batch, element by element",
    why: "JSON-RPC 2.0 §6, also for one request, twin ids and broken elements",
    isOne: (ours) => ours.answer.startsWith("["),
  },
  {
    what: "a revision that is not spoken here is refused for its header",
    why: "2025-11-25, Protocol Version Header: 400",
    isOne: (ours, _theirs, draft) =>
      ours.status === 400 && ours.answer === "-32000" &&
      !SESSION_REVISIONS.includes(header(draft, "mcp-protocol-version") ?? ""),
  },
  {
    what: "an unknown session is 404 before its batch is looked at",
    why: "a session's revision says whether there are batches",
    isOne: (ours, theirs, { body }) =>
      Array.isArray(body) && ours.status === 404 && theirs.status === 400,
  },
  {
    what: "a question needs its capability even when the answer is there",
    why: "2026-07-28: nothing is relied on that was not declared",
    isOne: (ours, theirs, draft) =>
      ours.answer === "-32021" && theirs.answer === "result" &&
      paramsOf(draft).inputResponses !== undefined,
  },
  {
    what: "unknown members of a message are ignored",
    why: "a later revision may add some",
    isOne: (_ours, theirs, draft) =>
      theirs.status === 400 && theirs.answer === "-32600" &&
      hasUnknownMembers(draft),
  },
  {
    what: "a notification without a session is accepted, whatever it claims",
    why: "2026-07-28: header requirements for notifications are not defined",
    isOne: (ours, theirs, draft) =>
      ours.status === 202 && theirs.status === 400 && isNotification(draft),
  },
  {
    what: "initialize opens one more session, whatever header it carries",
    why: "the interface: Mcp-Session-Id is required except on initialize",
    isOne: (ours, theirs, { message, session }) =>
      message.method === "initialize" && session !== "none" &&
      ours.answer === "result" && theirs.answer === "-32600",
  },
  {
    what: "initialize without a claim is of 2025, whatever header it carries",
    why:
      "2026-07-28, Versioning: an initialize request selects legacy semantics",
    isOne: (ours, theirs, draft) =>
      draft.message.method === "initialize" && claimOf(draft) === undefined &&
      header(draft, "mcp-protocol-version") === "2026-07-28" &&
      ["result", "-32602"].includes(ours.answer) && theirs.answer === "-32020",
  },
  {
    what: "a refusal that HTTP explains has no code of older implementations",
    why: "2026-07-28, Error Codes: -32000 to -32019 SHOULD NOT be used",
    isOne: (ours, theirs, draft) =>
      header(draft, "mcp-protocol-version") === "2026-07-28" &&
      ours.status === theirs.status && ours.answer === "-32600" &&
      theirs.answer === "-32000",
  },
  {
    what: "a cursor of null is none",
    why: "languages without optional members write null for what is absent",
    isOne: (ours, _theirs, draft) =>
      ours.answer === "result" && paramsOf(draft).cursor === null,
  },
  {
    what: "malformed initialize parameters are -32602 in band",
    why: "JSON-RPC 2.0 §5.1",
    isOne: (ours, theirs, { message }) =>
      message.method === "initialize" && ours.answer === "-32602" &&
      theirs.answer === "-32000",
  },
  {
    what: "a malformed claim in initialize is refused for what it is",
    why: "`_meta` with a protocolVersion is 2026 traffic",
    isOne: (ours, _theirs, { message }) =>
      message.method === "initialize" && ours.status === 400 &&
      ours.answer === "-32602",
  },
  {
    what: "a version that differs from its header is -32020 first",
    why: "2026-07-28, Protocol Version Header: MUST be rejected as mismatch",
    isOne: (ours, theirs) =>
      ours.answer === "-32020" && theirs.answer === "-32602",
  },
  {
    what: "a message of a session may name a session's revision in _meta",
    why: "it claims nothing that is not so",
    isOne: (ours, theirs, draft) =>
      ours.status === 200 && theirs.answer === "-32602" &&
      SESSION_REVISIONS.includes(claimOf(draft) as string),
  },
  {
    what: "subscribing to a resource is answered in 2025",
    why: "the capability is older than the choice of a transport; no push",
    isOne: (ours, theirs, { message }) =>
      /^resources\/(un)?subscribe$/.test(message.method as string) &&
      ours.answer === "result" && theirs.answer === "-32601",
  },
  {
    what: "a resource that does not exist is -32002 in 2025",
    why: "2025-11-25, Resources, Error Handling; URIs are compared exactly",
    isOne: (ours, theirs) =>
      ours.answer === "-32002" && ["-32602", "result"].includes(theirs.answer),
  },
  {
    what: "malformed parameters are -32602",
    why: "JSON-RPC 2.0 §5.1; they are not an internal error",
    isOne: (ours, theirs) =>
      ours.answer === "-32602" && theirs.answer === "-32603",
  },
  {
    what: "a cursor that was not handed out is refused",
    why: "2025-11-25, Pagination: invalid cursors SHOULD be -32602",
    isOne: (ours, theirs, draft) =>
      ours.answer === "-32602" && theirs.answer === "result" &&
      paramsOf(draft).cursor !== undefined,
  },
  {
    what: "answers and states that fit no question are refused",
    why: "2026-07-28: requestState is attacker-controlled and verified",
    isOne: (ours, _theirs, draft) => {
      const { requestState, inputResponses } = paramsOf(draft);
      return ours.answer === "-32602" &&
        (requestState ?? inputResponses) !== undefined;
    },
  },
  {
    what: "sessions ignore what only other revisions know",
    why: "2025 has no requestState, and tasks here are 2026's",
    isOne: (ours, theirs, draft) => {
      const { requestState, task } = paramsOf(draft);
      return ["result", "isError"].includes(ours.answer) &&
        theirs.answer === "-32602" &&
        (requestState !== undefined || task !== undefined);
    },
  },
  {
    what: "what a prompt or a completion does not use is not looked at",
    why: "an argument that no one declared changes nothing",
    isOne: (ours, theirs, { message }) =>
      ["prompts/get", "completion/complete"]
        .includes(message.method as string) &&
      ours.answer === "result" && theirs.answer === "-32603",
  },
];
