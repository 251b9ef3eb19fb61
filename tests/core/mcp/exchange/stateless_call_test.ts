import assert from "node:assert/strict";
import { AskedQuestion } from "../../../../src/core/protocol/question.ts";
import type { AdmittedRequest } from "../../../../src/core/mcp/exchange/engine.ts";
import type { MethodEngine } from "../../../../src/core/mcp/methods/method_engine.ts";
import { runCall } from "../../../../src/core/mcp/exchange/run.ts";
import { StatelessCall } from "../../../../src/core/mcp/generations/find.ts";
import { StorageError } from "../../../../src/core/errors.ts";
import { silentLogger } from "../../../kit/log.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import { settled } from "../../../kit/wait.ts";

const catalogue = compileCatalogue({}, {
  serverInfo: { name: "s", version: "1" },
});
const message = {
  kind: "request",
  id: 1,
  method: "tools/call",
  params: {},
} as const;

/** Makes a call that began at 0 and that its client may leave. */
function oneCall() {
  const leave = new AbortController();
  const engine = {
    clock: () => 0,
    log: silentLogger,
    limits: { charge() {} },
    running: { check() {}, add() {}, delete() {} },
    requestStates: { key: () => Promise.reject(new StorageError()) },
  } as unknown as MethodEngine;
  const admitted = {
    request: new Request("http://localhost/mcp", { signal: leave.signal }),
    catalogue,
    authenticated: {
      caller: { subject: "ada", binding: "ada", scopes: "all" },
    },
  } as unknown as AdmittedRequest;
  const call = new StatelessCall(engine, message, admitted, {
    clientInfo: { name: "c", version: "1" },
    clientCapabilities: {},
  });
  return { call, leave };
}

Deno.test("a question that cannot be sealed ends the call with the reason, and no author catches that", async () => {
  const { call } = oneCall();
  let thrown: unknown;
  const ending = await runCall(call, async () => {
    try {
      return {
        result: JSON.stringify(
          await call.request(new AskedQuestion("roots/list", {})),
        ),
      };
    } catch (error) {
      thrown = error;
      throw error;
    }
  });
  assert.match(ending.body!, /Storage is unavailable/);
  await settled();
  assert.deepEqual([thrown, call.signal.aborted], [undefined, true]);
});

Deno.test("a call that has ended has no one to ask", async () => {
  const { call } = oneCall();
  runCall(call, () => ({ result: "{}" }));
  await assert.rejects(
    call.request(new AskedQuestion("roots/list", {})),
    /The client left before roots\/list/,
  );
});
