/**
 * Records of tool calls for the people in whose name they are made.
 *
 * @module
 */
import type { Outcome } from "../../log/outcome.ts";
import type { RpcRequest } from "../wire/messages.ts";
import type { Admitted, Engine } from "./engine.ts";

/**
 * Records the outcome of a tool call under a grant; does nothing for other
 * requests.
 */
export function noteCall(
  ledger: Engine["ledger"],
  { method, params }: RpcRequest,
  { catalogue, authenticated: { caller: { grantId } } }: Pick<
    Admitted,
    "catalogue" | "authenticated"
  >,
  { outcome, startedMilliseconds }: {
    outcome: Outcome;
    startedMilliseconds: number;
  },
): void {
  if (!ledger || grantId === undefined || method !== "tools/call") return;
  // An unknown name is the client's text.
  const tool = catalogue.tools.get(params.name as string)?.name;
  if (tool === undefined) return;
  const at = Math.floor(startedMilliseconds / 1000);
  ledger.note(grantId, { at, tool, outcome });
}
