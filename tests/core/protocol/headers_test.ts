import assert from "node:assert/strict";
import {
  checkHeader,
  checkParamHeaders,
  checkStandardHeaders,
  decodeHeaderValue,
} from "../../../src/core/protocol/request_meta.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { RpcRequest } from "../../../src/core/protocol/messages.ts";
import { refuses } from "../../kit/refuses.ts";
import { RpcError } from "../../../src/core/errors.ts";

const VERSION = "2026-07-28";

function request(method: string, params: JsonObject = {}): RpcRequest {
  return { kind: "request", id: 1, method, params };
}

function check(message: RpcRequest, more: Record<string, string>): void {
  const headers = new Headers({ "mcp-method": message.method, ...more });
  checkStandardHeaders(headers, message);
}

const CALL = request("tools/call", { name: "greet" });
const READ = request("resources/read", { uri: "notes://a/é" });

Deno.test("checkStandardHeaders() takes headers that agree with the body", () => {
  check(CALL, { "Mcp-Name": "greet" });
  check(request("prompts/get", { name: "p" }), { "mcp-name": "p" });
  check(request("tools/list"), {});
  check(request("tools/list", { undefined: "x" }), {});
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    check(request(method, { taskId: "t" }), { "mcp-name": "t" });
  }
});

Deno.test("checkStandardHeaders() leaves a nameless body to its method", () => {
  check(request("tools/call"), {});
  check(request("resources/read", { uri: 1 }), {});
});

const LIST = request("tools/list");
const ENCODED = { "mcp-name": "=?base64?b3RoZXI=?=" };

const MISMATCHES: Record<string, [RpcRequest, Record<string, string>]> = {
  "another Mcp-Method": [LIST, { "mcp-method": "prompts/list" }],
  "an Mcp-Method in other case": [LIST, { "mcp-method": "Tools/List" }],
  "another Mcp-Name": [CALL, { "mcp-name": "other" }],
  "an Mcp-Name in other case": [CALL, { "mcp-name": "Greet" }],
  "an encoded Mcp-Name with another meaning": [CALL, ENCODED],
  "an Mcp-Name that equals the body only while it is encoded": [
    request("prompts/get", { name: ENCODED["mcp-name"] }),
    ENCODED,
  ],
  "raw characters beyond ASCII": [READ, { "mcp-name": "notes://a/é" }],
  "no Mcp-Name": [CALL, {}],
  "no Mcp-Name for the text null": [
    request("tools/call", { name: "null" }),
    {},
  ],
  "an Mcp-Name for another task": [
    request("tasks/cancel", { taskId: "a" }),
    { "mcp-name": "b" },
  ],
};

for (const [what, [message, headers]] of Object.entries(MISMATCHES)) {
  Deno.test(`checkStandardHeaders() refuses ${what}`, () => {
    refuses(() => check(message, headers), -32020, 400);
  });
}

const REGION = { header: "mcp-param-region", path: ["where", "region"] };

function checkRegion(region: unknown, header?: string): void {
  const headers = new Headers(
    header === undefined ? {} : { "Mcp-Param-Region": header },
  );
  checkParamHeaders(headers, [REGION], { where: { region } });
}

Deno.test("checkParamHeaders() takes a header that repeats its argument", () => {
  checkRegion("us-west1", "us-west1");
  checkRegion("", "");
  checkRegion(true, "true");
  checkRegion(-7, "-7");
  checkRegion("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
  checkRegion(" padded ", "=?base64?IHBhZGRlZCA=?=");
  checkRegion("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
  checkRegion("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
});

Deno.test("checkParamHeaders() compares integers numerically", () => {
  checkRegion(42, "42.0");
  checkRegion(42, "042");
  refuses(() => checkRegion(42, "43"), -32020, 400);
  refuses(() => checkRegion(16, "0x10"), -32020, 400);
  refuses(() => checkRegion(0, "=?base64??="), -32020, 400);
  refuses(() => checkRegion("42", "42.0"), -32020, 400);
});

Deno.test("checkParamHeaders() expects no header for null or nothing", () => {
  checkRegion(null);
  checkRegion(undefined);
  checkParamHeaders(new Headers(), [REGION], {});
  checkParamHeaders(new Headers(), [REGION], { where: "here" });
});

Deno.test("checkParamHeaders() reads own members only", () => {
  const param = { header: "mcp-param-a", path: ["constructor", "name"] };
  checkParamHeaders(new Headers(), [param], {});
});

const REFUSED: [what: string, pairs: [region: unknown, header?: string][]][] = [
  ["an argument whose header is missing", [["us-west1"], [false], ["null"]]],
  ["a header with another value", [
    ["us-west1", "us-east1"],
    ["us-west1", "US-WEST1"],
    [true, "True"],
  ]],
  ["a header that has no argument", [[undefined, "us-west1"], [null, "null"]]],
  ["invalid characters", [["é", "é"]]],
];

for (const [what, pairs] of REFUSED) {
  Deno.test(`checkParamHeaders() refuses ${what}`, () => {
    for (const [region, header] of pairs) {
      refuses(() => checkRegion(region, header), -32020, 400);
    }
  });
}

Deno.test("a header that is missing or differs is told with what was seen and what is wanted", () => {
  const region = (value?: string, where: object = { region: "EU" }) =>
    checkParamHeaders(
      new Headers(value === undefined ? {} : { "mcp-param-region": value }),
      [REGION],
      { where },
    );
  const named = (name: string) => check(CALL, { "mcp-name": name });
  for (
    const [act, message] of [
      [
        () => checkHeader("mcp-protocol-version", null, VERSION),
        `mcp-protocol-version is missing: the body has "${VERSION}"`,
      ],
      [
        () => checkHeader("mcp-protocol-version", "x", VERSION),
        `mcp-protocol-version does not match the body: the header has "x", the body "${VERSION}"`,
      ],
      [
        () => check(CALL, { "mcp-method": "tools/list" }),
        'mcp-method does not match the body: the header has "tools/list", the body "tools/call"',
      ],
      [() => check(CALL, {}), 'Mcp-Name is missing: params.name is "greet"'],
      [
        () => named("u"),
        'Mcp-Name does not match params.name: the header has "u", the body "greet"',
      ],
      [
        () => named("é"),
        'Mcp-Name must be visible ASCII or =?base64?…?=, not "é"',
      ],
      [() => region(), 'mcp-param-region is missing: where.region is "EU"'],
      [
        () => region("US"),
        'mcp-param-region does not match its argument: the header has "US", where.region is "EU"',
      ],
      [
        () => region("US", {}),
        'mcp-param-region has no argument to match: the header has "US", the body no where.region',
      ],
    ] as const
  ) assert.throws(act, { message: `Header mismatch: ${message}` });
});

Deno.test("a refusal repeats no more of a header than fits, and nothing that cannot be seen", () => {
  const name = `=?base64?${btoa("\u0007\x9b" + "x".repeat(5000))}?=`;
  const override = "=?base64?4oCu?=";
  for (const [value, shown] of [[name, /"…/], [override, /u202e/]] as const) {
    assert.throws(
      () => check(CALL, { "mcp-name": value }),
      ({ message }: Error) =>
        message.length < 300 && !/[\p{C}]/u.test(message) &&
        (shown.test(message) || message.includes("base64")),
    );
  }
});

Deno.test("decodeHeaderValue() reads base64 and leaves the rest as it is", () => {
  assert.equal(decodeHeaderValue("=?base64?SGVsbG8=?="), "Hello");
  assert.equal(decodeHeaderValue("=?base64?w6k=?="), "é");
  assert.equal(decodeHeaderValue("=?base64??="), "");
  for (const literal of ["SGVsbG8=", "=?base64?SGVsbG8=", "SGVsbG8=?=", ""]) {
    assert.equal(decodeHeaderValue(literal), literal);
  }
});

Deno.test("decodeHeaderValue() refuses what is not base64 of UTF-8", () => {
  for (
    const encoded of ["SGVsbG8", "SGVs!!!bG8=", "SGVs bG8=", "SGVsbA=", "/w=="]
  ) {
    assert.throws(
      () => decodeHeaderValue(`=?base64?${encoded}?=`),
      (error) => error instanceof RpcError && error.code === -32020,
      encoded,
    );
  }
});

Deno.test("decodeHeaderValue() decodes only what is all in one sentinel", () => {
  for (const literal of ["x=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?=x"]) {
    assert.equal(decodeHeaderValue(literal), literal);
  }
});

Deno.test("decodeHeaderValue() keeps a byte order mark", () => {
  assert.equal(decodeHeaderValue("=?base64?77u/YQ==?="), "\uFEFFa");
});
