import assert from "node:assert/strict";
import { AskedQuestion } from "../../../../src/core/protocol/question.ts";
import { CallerBound } from "../../../../src/core/mcp/exchange/limits.ts";
import type { MethodEngine } from "../../../../src/core/mcp/methods/method_engine.ts";
import { settled } from "../../../kit/wait.ts";
import {
  SessionCall,
  type SessionRequest,
} from "../../../../src/core/mcp/generations/session.ts";

/** Makes a call of a session, with a record of its questions. */
function oneCall(isLive = true) {
  const asked: string[] = [];
  const replies = {
    expect: () => Promise.resolve(),
    take: (_sessionId: string, id: string, signal: AbortSignal) =>
      new Promise((_, reject) => {
        asked.push(id);
        const fail = () => reject(signal.reason);
        if (signal.aborted) fail();
        else signal.addEventListener("abort", fail);
      }),
  };
  const engine = {
    bodies: { begin() {}, end() {} },
    clock: Date.now,
    log: { isEnabledFor: () => false },
    replies,
    questions: new CallerBound(1, "questions at a time"),
    sessions: { find: () => Promise.resolve({}) },
    trustedProxies: [],
  } as unknown as MethodEngine;
  const open = {
    request: new Request("http://localhost/mcp"),
    authenticated: {
      caller: { subject: "ada", binding: "ada", scopes: "all" },
      isLive: () => Promise.resolve(isLive),
    },
    sessionId: "s",
    session: { capabilities: {}, revision: "2025-11-25" },
  } as unknown as SessionRequest;
  const message = {
    kind: "request",
    id: 1,
    method: "tools/call",
    params: {},
  } as const;
  return { call: new SessionCall(engine, message, open), asked };
}

Deno.test("isLive() is what the grant says, for all that the session is there", async () => {
  assert.equal(await oneCall(true).call.isLive(), true);
  assert.equal(await oneCall(false).call.isLive(), false);
});

Deno.test("request() has one question too many refused, until one is answered or left", async () => {
  const { call, asked } = oneCall();
  const response = call.response.response;
  const first = call.request(new AskedQuestion("roots/list", {}));
  await assert.rejects(
    call.request(new AskedQuestion("roots/list", {})),
    /questions at a time/,
  );
  await settled();
  assert.equal(asked.length, 1);
  await (await response).body!.cancel();
  await assert.rejects(first, /left before it answered roots\/list/);
  // The place is free again, but the client has left.
  await assert.rejects(
    call.request(new AskedQuestion("roots/list", {})),
    /The client left before roots\/list/,
  );
  assert.equal(asked.length, 1);
});

Deno.test("request() tells all who listen that the client has left", async () => {
  const { call } = oneCall();
  let gone = 0;
  call.response.onGone = () => void gone++;
  const response = call.response.response;
  const question = call.request(new AskedQuestion("roots/list", {}));
  await settled();
  await (await response).body!.cancel();
  await assert.rejects(question, /left before it answered/);
  assert.equal(gone, 1);
});

Deno.test("request() asks nothing for a call that was cancelled", async () => {
  const { call, asked } = oneCall();
  call.execution.cancel("enough");
  await assert.rejects(
    call.request(new AskedQuestion("roots/list", {})),
    /The client left before roots\/list/,
  );
  assert.deepEqual(asked, []);
});
