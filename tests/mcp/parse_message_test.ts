import assert from "node:assert/strict";
import { RpcError } from "../../src/errors.ts";
import { parseMessage } from "../../src/mcp/messages.ts";

const REQUEST = { jsonrpc: "2.0", id: 1, method: "ping" };

function refused(value: unknown): void {
  assert.throws(
    () => parseMessage(value),
    (error) =>
      error instanceof RpcError && error.code === -32600 &&
      error.status === 400,
    JSON.stringify(value),
  );
}

Deno.test("parseMessage() refuses a message that asks and answers at once", () => {
  assert.equal(parseMessage(REQUEST).kind, "request");
  refused({ ...REQUEST, result: {} });
  refused({ ...REQUEST, result: null });
  refused({ ...REQUEST, error: { code: 1, message: "" } });
});

Deno.test("parseMessage() refuses a _meta that is no object and a token that is no id", () => {
  const withMeta = (_meta: unknown) => ({ ...REQUEST, params: { _meta } });
  assert.equal(parseMessage(withMeta({ progressToken: "a" })).kind, "request");
  for (const meta of [null, 1, "x", [], { progressToken: 1.5 }]) {
    refused(withMeta(meta));
  }
});
