import assert from "node:assert/strict";
import {
  internalRefusal,
  refusalOf,
} from "../../../src/mcp/exchange/refusal.ts";
import { HttpError } from "../../../src/errors.ts";
import type { Gate } from "../../../src/auth/doors/gate.ts";

Deno.test("internalRefusal() answers a request, or fails where there is none to answer", () => {
  for (
    const [id, status] of [[0, 200], ["a", 200], [undefined, 500]] as const
  ) {
    const refusal = internalRefusal("r", id);
    assert.equal(refusal.status, status);
    assert.match(refusal.body, /Internal error \(reference r\)/);
  }
});

Deno.test("refusalOf() tells the client what it sent, and the log only what is wrong with it", () => {
  const seen = `text/${"x".repeat(5000)}`;
  const error = new HttpError(415, "It must be JSON", {}, { seen });
  const { body, reason } = refusalOf(error, {
    id: 1,
    gate: {} as Gate,
    request: new Request("http://localhost/mcp"),
    stateless: true,
  })!;
  assert.equal(reason, "It must be JSON");
  const { message } = JSON.parse(body).error;
  assert.match(message, /^It must be JSON, not "text\/x+…"$/);
  assert.ok(message.length < 200);
});
