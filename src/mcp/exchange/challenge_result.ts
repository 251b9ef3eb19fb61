/**
 * A challenge inside a tool's result. ChatGPT asks people to sign in only for a
 * challenge in this form; all other clients look at the HTTP status.
 *
 * @see https://developers.openai.com/apps-sdk/build/auth
 * @module
 */
import { ChallengeError } from "../../errors.ts";
import { sidOf } from "../../auth/doors/sid.ts";
import { errorResult } from "../wire/tool_result.ts";
import type { Call } from "./call.ts";

/** True if a request is ChatGPT's. It decides only the form of an answer. */
export function readsResults(headers: Headers): boolean {
  return headers.get("user-agent")?.startsWith("openai-mcp/") === true;
}

/** Makes the result that carries a challenge for scopes. */
export function challengeResult(
  call: Call,
  { description, scopes }: ChallengeError,
): string {
  const { engine: { gate }, admitted: { request }, introduction } = call;
  // ChatGPT wants all of the parameters, for strangers too.
  const refusal = new ChallengeError(description, "insufficient_scope", scopes);
  call.outcome = "refused";
  return introduction.printer.result({
    ...errorResult(description),
    _meta: {
      "mcp/www_authenticate": [gate.challenge(refusal, sidOf(request))],
    },
  });
}
