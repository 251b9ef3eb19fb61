import assert from "node:assert/strict";
import { RpcError } from "../../../src/errors.ts";
import { decodeHeaderValue } from "../../../src/mcp/wire/headers.ts";

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
