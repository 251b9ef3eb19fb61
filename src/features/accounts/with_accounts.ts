/**
 * The accounts of a caller for a resource or a prompt, found before it is read.
 *
 * @module
 */
import type { AccountNeeds } from "../../authoring/account.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { takeAccount } from "./account_needs.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Finding } from "./account_finder.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";

/**
 * Gives the context of a call the accounts that an item needs, then reads it.
 *
 * @param read receives the arguments without the server's own `account`
 */
export function withAccounts<I extends JsonObject, R>(
  { engine, context }: Pick<Call, "engine" | "context">,
  { name, needs }: { name: string; needs?: AccountNeeds },
  input: I,
  finding: Finding,
  read: (own: I) => MaybePromise<R>,
): MaybePromise<R> {
  if (!needs) return read(input);
  const { account, own } = takeAccount(needs, input);
  return CallContext.follow(
    context,
    engine.findAccounts(context, { name, needs }, account, finding),
    (found) => {
      found.bind(context);
      return read(own as I);
    },
  );
}
