import assert from "node:assert/strict";
import {
  checkParamHeaders,
  checkStandardHeaders,
  checkVersionHeader,
  valueAt,
} from "../../src/protocol/headers.ts";
import type { JsonObject } from "../../src/json.ts";
import type { RpcRequest } from "../../src/protocol/messages.ts";
import { refuses } from "./refuses.ts";

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

Deno.test("checkStandardHeaders() decodes Mcp-Name before it compares", () => {
  check(READ, { "mcp-name": "=?base64?bm90ZXM6Ly9hL8Op?=" });
});

Deno.test("checkStandardHeaders() leaves a nameless body to its method", () => {
  check(request("tools/call"), {});
  check(request("resources/read", { uri: 1 }), {});
});

const MISMATCHES: Record<string, [RpcRequest, Record<string, string>]> = {
  "another Mcp-Method": [
    request("tools/list"),
    { "mcp-method": "prompts/list" },
  ],
  "an Mcp-Method in other case": [
    request("tools/list"),
    { "mcp-method": "Tools/List" },
  ],
  "another Mcp-Name": [CALL, { "mcp-name": "other" }],
  "an Mcp-Name in other case": [CALL, { "mcp-name": "Greet" }],
  "an encoded Mcp-Name with another meaning": [
    CALL,
    { "mcp-name": "=?base64?b3RoZXI=?=" },
  ],
  "an Mcp-Name that equals the body only while it is encoded": [
    request("prompts/get", { name: "=?base64?b3RoZXI=?=" }),
    { "mcp-name": "=?base64?b3RoZXI=?=" },
  ],
  "an Mcp-Name with raw characters beyond ASCII": [
    READ,
    { "mcp-name": "notes://a/é" },
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

Deno.test("checkStandardHeaders() refuses a missing Mcp-Method", () => {
  const message = request("tools/list");
  refuses(() => checkStandardHeaders(new Headers(), message), -32020, 400);
});

Deno.test("checkStandardHeaders() refuses a missing Mcp-Name", () => {
  refuses(() => check(CALL, {}), -32020, 400);
});

Deno.test("checkVersionHeader() refuses a missing or different version", () => {
  refuses(() => checkVersionHeader("2025-11-25", VERSION), -32020, 400);
  refuses(() => checkVersionHeader(null, VERSION), -32020, 400);
});

const REGION = { header: "mcp-param-region", path: ["where", "region"] };

function checkRegion(region: unknown, header?: string): void {
  const headers = new Headers(
    header === undefined ? {} : {
      "Mcp-Param-Region": header,
    },
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

Deno.test("checkParamHeaders() refuses an argument whose header is missing", () => {
  refuses(() => checkRegion("us-west1"), -32020, 400);
  refuses(() => checkRegion(false), -32020, 400);
});

Deno.test("checkParamHeaders() refuses a header with another value", () => {
  refuses(() => checkRegion("us-west1", "us-east1"), -32020, 400);
  refuses(() => checkRegion("us-west1", "US-WEST1"), -32020, 400);
  refuses(() => checkRegion(true, "True"), -32020, 400);
});

Deno.test("checkParamHeaders() refuses a header that has no argument", () => {
  refuses(() => checkRegion(undefined, "us-west1"), -32020, 400);
  refuses(() => checkRegion(null, "null"), -32020, 400);
});

Deno.test("checkParamHeaders() refuses invalid characters", () => {
  refuses(() => checkRegion("é", "é"), -32020, 400);
});

Deno.test("checkParamHeaders() takes no missing header for the text null", () => {
  const params = [{ header: "mcp-param-text", path: ["text"] }];
  refuses(
    () => checkParamHeaders(new Headers(), params, { text: "null" }),
    -32020,
    400,
  );
});

Deno.test("checkStandardHeaders() takes no missing name for the text null", () => {
  refuses(
    () => check(request("tools/call", { name: "null" }), {}),
    -32020,
    400,
  );
});

Deno.test("valueAt() looks into objects, and at their own members only", () => {
  assert.equal(valueAt({ a: { b: 1 } }, ["a", "b"]), 1);
  assert.equal(valueAt({ a: "text" }, ["a", "length"]), undefined);
  assert.equal(valueAt({ a: [1] }, ["a", "0"]), undefined);
  assert.equal(valueAt({}, ["toString"]), undefined);
});

Deno.test("headers that are missing are told from those that differ", () => {
  const none = new Headers();
  assert.throws(() => checkVersionHeader(null, VERSION), /version is missing/);
  assert.throws(() => checkVersionHeader("x", VERSION), /does not match/);
  assert.throws(() => check(CALL, {}), /Mcp-Name is missing/);
  assert.throws(
    () => checkParamHeaders(none, [REGION], { where: { region: "a" } }),
    /mcp-param-region is missing/,
  );
});
