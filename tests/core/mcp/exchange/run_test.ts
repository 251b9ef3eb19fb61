/** The ends of what never became a call. */
import assert from "node:assert/strict";
import type { Gate } from "../../../../src/core/auth/doors/gate.ts";
import { HttpError, StorageError } from "../../../../src/core/errors.ts";
import {
  type Incoming,
  refuseRequest,
} from "../../../../src/core/mcp/exchange/run.ts";
import { recordLog } from "../../../kit/log.ts";

/** Refuses a request; gives its end, and what the log was told. */
function refused(thrown: unknown, incoming: Partial<Incoming> = {}) {
  const { logger: log, events } = recordLog("debug");
  const ends: unknown[] = [];
  const operation = {
    run: (work: () => unknown) => work(),
    end: (ending: unknown) => ends.push(ending),
  } as unknown as Incoming["operation"];
  const request = new Request("http://localhost/mcp", { method: "POST" });
  const ending = refuseRequest(
    { log, gate: {} as Gate, trustedProxies: [] },
    thrown,
    { request, operation, ...incoming },
  );
  return { ending, events, ends };
}

Deno.test("refuseRequest() answers a request, or fails where there is none to answer", () => {
  for (
    const [id, status] of [
      [0, undefined],
      ["a", undefined],
      [undefined, 500],
    ] as const
  ) {
    const { ending, events, ends } = refused(new Error("secret"), { id });
    assert.equal(ending.status, status);
    const { reference } = events[0].properties as Record<string, unknown>;
    assert.match(ending.body!, new RegExp(`Internal error .*${reference}`));
    assert.deepEqual(events.map(({ level }) => level), ["error"]);
    assert.deepEqual(ends, [{ outcome: "internal_error", code: -32603 }]);
  }
});

Deno.test("refuseRequest() tells the client what it sent, and the log only what is wrong with it", () => {
  const seen = `text/${"x".repeat(5000)}`;
  const error = new HttpError(415, "It must be JSON", { seen });
  const { ending, events, ends } = refused(error, { id: 1 });
  assert.equal(ending.status, 415);
  const { message } = JSON.parse(ending.body!).error;
  assert.match(message, /^It must be JSON, not "text\/x+…"$/);
  assert.ok(message.length < 200);
  const [{ level, properties }] = events;
  assert.equal(level, "debug");
  assert.equal(properties.refusal, "It must be JSON");
  assert.equal(events.length, 1);
  assert.deepEqual(ends, [{ outcome: "refused", code: -32000 }]);
});

Deno.test("refuseRequest() tells the log why something that we depend on failed", () => {
  const { ending, events } = refused(new StorageError());
  assert.equal(ending.status, 503);
  assert.deepEqual(events.map(({ level }) => level), ["warning", "debug"]);
});
