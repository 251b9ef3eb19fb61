/**
 * The check whether a caller can have accounts at services.
 *
 * @module
 */
import { ToolError } from "../../authoring/tool.ts";
import { type Caller, mayUseAccounts } from "../../core/caller.ts";
import type { Asking } from "../../core/mcp/exchange/asking.ts";
import { isMachineSubject } from "../../core/oauth/subject.ts";
import type { ServerAccounts } from "./server_accounts.ts";

/**
 * Checks that the caller is a person who can sign in here, and that a personal
 * access token allows accounts.
 *
 * @throws {ToolError}
 */
export function checkMayHave(
  caller: Caller,
  { work: { pageQuestions } }: Asking,
  { vault, server: { sealing } }: ServerAccounts,
): void {
  if (pageQuestions === undefined) {
    throw new ToolError(
      `This acts with a person's own account, and ${callerInWords(caller)}.`,
    );
  }
  if (!vault && !sealing) {
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

/** The reason, for the model, why a caller cannot have accounts. */
function callerInWords({ door, subject }: Caller): string {
  if (isMachineSubject(subject)) {
    return "this client acts for itself, for no person";
  }
  return door === "oauth" || door === "jwt"
    ? "this person cannot sign in to the pages of this server to connect one"
    : "no one is signed in: that wants AUTH_STRATEGY=oauth";
}
