/**
 * The gates of `AUTH_STRATEGY=bearer` and `api_key`: credentials that the
 * operator chose and hands out.
 *
 * @module
 */
import type { Authenticated } from "../caller.ts";
import { isSameSecret } from "../crypto.ts";
import { ChallengeError } from "../errors.ts";
import { parseBearer, printChallenge } from "../oauth/challenge.ts";
import type { Gate } from "./gate.ts";

/** Whoever holds a credential is the operator, whichever of them it is. */
const OPERATOR: Authenticated = Object.freeze({
  caller: Object.freeze({
    subject: "operator",
    scopes: "all" as const,
    binding: "operator",
  }),
});

function admit(
  presented: string | undefined,
  accepted: readonly string[],
): Authenticated {
  if (presented === undefined) {
    throw new ChallengeError("Credentials are needed");
  }
  // All of them, always: time must not tell which one was nearly right.
  const matches = accepted.filter((secret) => isSameSecret(presented, secret));
  if (matches.length > 0) return OPERATOR;
  throw new ChallengeError("The credentials are wrong", "invalid_token");
}

/** Lets in whoever sends one of the tokens as `Authorization: Bearer`. */
export function bearerGate({ tokens }: { tokens: readonly string[] }): Gate {
  return {
    authenticate: (headers) =>
      admit(parseBearer(headers.get("authorization")), tokens),
    challenge: (refusal) => printChallenge(refusal),
  };
}

/** Lets in whoever sends one of the keys in the header. */
export function apiKeyGate(
  { keys, header }: { keys: readonly string[]; header: string },
): Gate {
  return {
    authenticate: (headers) => admit(headers.get(header) ?? undefined, keys),
    challenge: () => `ApiKey header="${header}"`,
  };
}
