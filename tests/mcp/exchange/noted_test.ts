import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { ANONYMOUS } from "../../../src/caller.ts";
import type { Engine } from "../../../src/mcp/exchange/engine.ts";
import { noteCall } from "../../../src/mcp/exchange/noted.ts";
import { compileCatalogue } from "../../../src/mcp/catalogue/catalogue.ts";

const catalogue = compileCatalogue(
  { tools: [tool({ name: "echo", run: () => "" })] },
  { serverInfo: { name: "s", version: "1" } },
);

/** Gives the record of a call that ended. */
function noted(
  { method = "tools/call", name = "echo", grantId, hasLedger = true }: {
    method?: string;
    name?: string;
    grantId?: string;
    hasLedger?: boolean;
  },
): unknown[] {
  const calls: unknown[] = [];
  const ledger = {
    note: (...call: unknown[]) => void calls.push(call),
  } as unknown as Engine["ledger"];
  noteCall(
    hasLedger ? ledger : undefined,
    { kind: "request", id: 1, method, params: { name } },
    { catalogue, authenticated: { caller: { ...ANONYMOUS, grantId } } },
    { outcome: "tool_error", startedMilliseconds: 1_999 },
  );
  return calls;
}

Deno.test("noteCall() notes when a tool was called under a grant, and how that ended", () => {
  assert.deepEqual(noted({ grantId: "g" }), [
    ["g", { at: 1, tool: "echo", outcome: "tool_error" }],
  ]);
});

Deno.test("noteCall() notes neither other methods, nor names that nothing has, nor what is under no grant", () => {
  for (
    const call of [
      { grantId: "g", method: "prompts/get" },
      { grantId: "g", name: "secret" },
      {},
      { grantId: "g", hasLedger: false },
    ]
  ) assert.deepEqual(noted(call), []);
});
