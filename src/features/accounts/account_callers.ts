/**
 * The callers who may act with the accounts that people connect here.
 *
 * @module
 */
import { ToolError } from "../../authoring/tool.ts";
import { type Caller, mayUseAccounts } from "../../core/caller.ts";
import { isMachineSubject } from "../../core/oauth/subject.ts";
import type { Asking } from "../../core/mcp/exchange/asking.ts";

/**
 * Checks that a caller may act with a person's accounts: people may who can
 * sign in to a page here, and access tokens whose makers allowed it.
 *
 * @throws {ToolError}
 */
export function checkMayHave(
  caller: Caller,
  { work: { pageQuestions } }: Asking,
  hasSealing: boolean,
): void {
  if (pageQuestions === undefined) {
    throw new ToolError(
      `This acts with a person's own account, and ${whoIs(caller)}.`,
    );
  }
  if (!hasSealing) {
    throw new ToolError(
      "This server keeps no accounts of people: its operator has to set SECRETS_KEYS.",
    );
  }
  if (!mayUseAccounts(caller)) {
    throw new ToolError(
      "This access token may not act with its person's accounts: they can make one that may, on their account page.",
    );
  }
}

/** Says why a caller has no accounts. */
function whoIs({ door, subject }: Caller): string {
  if (isMachineSubject(subject)) {
    return "this client acts for itself, for no person";
  }
  return door === "oauth" || door === "jwt"
    ? "this person cannot sign in to the pages of this server to connect one"
    : "no one is signed in";
}
