/**
 * Everything that can be wrong, or merely unusual, about a message. Each
 * breakage changes a draft in place and gives a label of it.
 *
 * @module
 */
import { pick } from "./random.ts";
import {
  type Draft,
  type Json,
  META,
  SESSION_REVISIONS,
  type SessionClaim,
  STATELESS_REVISION,
} from "./messages.ts";

/** Changes a draft. */
export interface Breakage {
  label: string;
  apply(draft: Draft): void;
}

const ABSENT = Symbol("absent");

/** Values of every shape that JSON has. */
const SHAPES: readonly unknown[] = [
  ABSENT,
  null,
  true,
  0,
  -1,
  1.5,
  1e21,
  "",
  "x",
  "2.0",
  "é\u0000\u{1F600}",
  [],
  [1],
  {},
  { a: { b: [null] } },
];

function print(value: unknown): string {
  return value === ABSENT ? "absent" : JSON.stringify(value).slice(0, 30);
}

const MEMBER = { enumerable: true, configurable: true, writable: true };

/** Sets a member at a path, and makes the objects on the way. */
function setAt(target: Json, path: readonly string[], value: unknown): void {
  const [first, ...rest] = path;
  if (rest.length > 0) {
    const next = target[first];
    if (typeof next !== "object" || next === null) target[first] = {};
    return setAt(target[first] as Json, rest, value);
  }
  if (value === ABSENT) {
    delete target[first];
    return;
  }
  // An assignment to `__proto__` would make no member.
  Object.defineProperty(target, first, {
    ...MEMBER,
    value: structuredClone(value),
  });
}

function member(path: string, values: readonly unknown[] = SHAPES): Breakage[] {
  const names = path.split(" ");
  return values.map((value) => ({
    label: `${path}=${print(value)}`,
    apply: ({ message }) => setAt(message, names, value),
  }));
}

function header(
  name: string,
  ...values: (string | typeof ABSENT)[]
): Breakage[] {
  return values.map((value) => ({
    label: `${name}: ${value === ABSENT ? "absent" : value}`,
    apply({ headers }) {
      if (value === ABSENT) delete headers[name];
      else headers[name] = value as string;
    },
  }));
}

function session(claim: SessionClaim): Breakage {
  return {
    label: `session ${claim}`,
    apply: (draft) => void (draft.session = claim),
  };
}

function body(
  label: string,
  make: (draft: Draft) => NonNullable<Draft["body"]>,
): Breakage {
  return {
    label: `body ${label}`,
    apply: (draft) => void (draft.body = make(draft)),
  };
}

const UTF8 = new TextEncoder();

function text({ message }: Draft): string {
  return JSON.stringify(message);
}

/** A base64 header value, as the revision of 2026 has it. */
function encoded(value: string): string {
  return `=?base64?${btoa(value)}?=`;
}

const NOTIFICATION = { jsonrpc: "2.0", method: "notifications/initialized" };

export const BREAKAGES: readonly Breakage[] = [
  // The envelope
  ...member("jsonrpc"),
  ...member("id"),
  ...member("method"),
  ...member("method", [
    "ping",
    "PING",
    "tools/list ",
    "Tools/List",
    "initialize",
    "notifications/initialized",
    "tasks/get",
    "tasks/list",
    "rpc.discover",
    "__proto__",
    "constructor",
  ]),
  ...member("params"),
  ...member("result", [{}, null, 1]),
  ...member("error", [{ code: 1, message: "" }, null]),
  ...member("extra", [1]),
  ...member("__proto__", [{ method: "ping" }]),

  // Parameters
  ...member("params name"),
  ...member("params name", ["echo", "nothing", "__proto__", "toString"]),
  ...member("params arguments"),
  ...member("params arguments text"),
  ...member("params arguments times", ["2", 0, -1, 1.5, null, 3]),
  ...member("params arguments file"),
  ...member("params arguments extra", [1]),
  ...member("params uri"),
  ...member("params uri", [
    "note://a/b/c",
    "note://a/",
    "note:///b",
    "note://a%2Fb/c",
    "DOC://readme",
    "doc://readme/",
    "not a uri",
  ]),
  ...member("params cursor"),
  ...member("params level"),
  ...member("params level", ["debug", "WARNING", "fatal"]),
  ...member("params ref"),
  ...member("params ref", [
    { type: "ref/prompt", name: "nothing" },
    { type: "ref/prompt", name: "greeting" },
    { type: "ref/resource", uri: "doc://readme" },
    { type: "ref/resource", uri: "note://{x}" },
    { type: "ref/other", name: "review" },
  ]),
  ...member("params argument"),
  ...member("params argument name", ["tone", "nothing", 1]),
  ...member("params argument value"),
  ...member("params context", [{}, { arguments: { a: "b" } }, 1]),
  ...member("params protocolVersion"),
  ...member("params protocolVersion", [
    ...SESSION_REVISIONS,
    STATELESS_REVISION,
    "2024-11-05",
    "1999-01-01",
  ]),
  ...member("params capabilities"),
  ...member("params clientInfo"),
  ...member("params clientInfo name"),
  ...member("params clientInfo version"),
  ...member("params requestId"),
  ...member("params progressToken"),
  ...member("params notifications"),
  ...member("params notifications toolsListChanged"),
  ...member("params notifications resourceSubscriptions"),
  ...member("params inputResponses"),
  ...member("params requestState"),
  ...member("params task", [{ ttl: 60_000 }, null]),
  ...member("params taskId"),

  // `_meta`
  ...member("params _meta"),
  ...member("params _meta progressToken"),
  ...member(`params _meta ${META}protocolVersion`),
  ...member(`params _meta ${META}protocolVersion`, [
    ...SESSION_REVISIONS,
    STATELESS_REVISION,
    "2099-01-01",
  ]),
  ...member(`params _meta ${META}clientCapabilities`),
  ...member(`params _meta ${META}clientCapabilities`, [
    { elicitation: { url: {} } },
    { elicitation: 1 },
  ]),
  ...member(`params _meta ${META}clientInfo`),
  ...member(`params _meta ${META}logLevel`),
  ...member(`params _meta ${META}logLevel`, ["debug", "fatal"]),

  // Headers
  ...header(
    "content-type",
    ABSENT,
    "",
    "text/plain",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=utf-16",
    "application/json, text/plain",
    "application/jsonp",
    "application/json-rpc",
    "application/vnd.api+json",
  ),
  ...header(
    "accept",
    ABSENT,
    "",
    "*/*",
    "application/json",
    "text/event-stream",
    "text/html",
    "application/*, text/*",
    "text/event-stream, application/json",
    "application/json;q=0.9, text/event-stream;q=0.8",
    "APPLICATION/JSON, TEXT/EVENT-STREAM",
  ),
  ...header(
    "mcp-protocol-version",
    ABSENT,
    "",
    ...SESSION_REVISIONS,
    STATELESS_REVISION,
    "2024-11-05",
    "1999-01-01",
    "latest",
  ),
  ...header("origin", "http://localhost:8080", "https://evil.example", "null"),
  ...header("host", "localhost:3000", "[::1]:3000", "evil.example"),
  ...header("last-event-id", "1"),
  ...header("mcp-method", ABSENT, "", "ping", "tools/list", "TOOLS/LIST"),
  ...header("mcp-method", "  tools/call  ", encoded("tools/call")),
  ...header("mcp-name", ABSENT, "", "echo", "Echo", "nothing", " plain "),
  ...header("mcp-name", encoded("echo"), "=?base64?ZWNobw?=", "=?base64?e!?="),
  ...header("mcp-param-region", ABSENT, "", "south", "NORTH", encoded("north")),
  ...header("mcp-param-region", "=?base64?bm9ydGg?=", "=?base64?bm9ydGg="),
  ...header("mcp-param-size", ABSENT, "3.0", "03", "4", "x", "3e0"),
  ...header("mcp-param-dry", "true", "false"),
  ...header("mcp-param-unknown", "1"),
  session("none"),
  session("unknown"),
  session("ended"),
  session("open"),
  ...["GET", "DELETE", "PUT", "PATCH", "HEAD"].map((verb) => ({
    label: `verb ${verb}`,
    apply: (draft: Draft) => void (draft.verb = verb),
  })),

  // Bodies
  body("empty", () => ""),
  body("null", () => "null"),
  body("number", () => "1"),
  body("string", () => '"x"'),
  body("cut short", (draft) => text(draft).slice(0, -1)),
  body("trailing comma", (draft) => text(draft).slice(0, -1) + ",}"),
  body("two messages", (draft) => text(draft) + text(draft)),
  body("white space around", (draft) => `\r\n\t ${text(draft)} \n`),
  body("byte order mark", (draft) => "\ufeff" + text(draft)),
  body("UTF-16", (draft) => {
    const units = Uint16Array.from(text(draft), (c) => c.charCodeAt(0));
    return new Uint8Array(units.buffer);
  }),
  body("invalid UTF-8", (draft) => {
    setAt(draft.message, ["params", "note"], "?");
    const bytes = UTF8.encode(text(draft));
    bytes[bytes.lastIndexOf(0x3f)] = 0xff;
    return bytes;
  }),
  body("duplicate members", (draft) => '{"id":77,' + text(draft).slice(1)),
  body("deep", () => "[".repeat(20_000) + "]".repeat(20_000)),
  body("over the limit", (draft) => text(draft) + " ".repeat(5 * 2 ** 20)),
  body("batch of none", () => []),
  body("batch of one", ({ message }) => [message]),
  body("batch of two", ({ message }) => [message, { ...message, id: 3 }]),
  body("batch with a twin id", ({ message }) => [message, message]),
  body("batch with a notification", ({ message }) => [message, NOTIFICATION]),
  body("batch of notifications", () => [NOTIFICATION, NOTIFICATION]),
  body("batch with a number", ({ message }) => [message, 1]),
  body("batch of responses", () => [{ jsonrpc: "2.0", id: 9, result: {} }]),
  body("batch in a batch", ({ message }) => [[message]]),
];

/** A draft with breakages, told apart by their labels. */
export function broken(
  makers: readonly (() => Draft)[],
  breakages: number,
  random: () => number,
): Draft {
  const draft = pick(makers, random)();
  for (let i = 0; i < breakages; i++) {
    const { label, apply } = pick(BREAKAGES, random);
    draft.label.push(label);
    apply(draft);
  }
  return draft;
}
