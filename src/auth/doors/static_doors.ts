/**
 * The doors of `AUTH_STRATEGY=bearer` and `api_key`: credentials that the
 * operator chose and hands out.
 *
 * @module
 */
import type { Authenticated, Door } from "../../caller.ts";
import type { AuthConfig } from "../../settings/auth.ts";
import { isSameSecret } from "../../crypto/crypto.ts";
import { ChallengeError } from "../../errors.ts";
import { parseBearer, printChallenge } from "../rules/challenge.ts";
import type { Doors } from "./doors.ts";
import type { Gate } from "./gate.ts";

/** Makes the holder of static credentials: the operator. */
function holderOf(door: Door): Authenticated {
  return Object.freeze({
    caller: Object.freeze({
      subject: "operator",
      door,
      scopes: "all" as const,
      binding: "operator",
    }),
  });
}

const BY_TOKEN = holderOf("bearer");
const BY_KEY = holderOf("api_key");

function admit(
  presented: string | undefined,
  accepted: readonly string[],
  holder: Authenticated,
): Authenticated {
  if (presented === undefined) {
    throw new ChallengeError("Credentials are needed");
  }
  // All secrets are compared, always: the time taken must not tell which one
  // was nearly right.
  const matches = accepted.filter((secret) => isSameSecret(presented, secret));
  if (matches.length > 0) return holder;
  throw new ChallengeError("The credentials are wrong", "invalid_token");
}

/** Makes the doors that open by comparison alone. */
export function staticDoors(
  { bearer, apiKey }: AuthConfig,
): Pick<Doors, "bearer" | "apiKey"> {
  return {
    bearer: bearer && bearerDoor(bearer),
    apiKey: apiKey && apiKeyDoor(apiKey),
  };
}

/** Lets in the sender of one of the tokens as `Authorization: Bearer`. */
function bearerDoor({ tokens }: { tokens: readonly string[] }): Gate {
  return {
    authenticate: (headers) =>
      admit(parseBearer(headers.get("authorization")), tokens, BY_TOKEN),
    restore: ({ door }) => door === "bearer" ? BY_TOKEN : undefined,
    challenge: (refusal) => printChallenge(refusal),
  };
}

/** Lets in the sender of one of the keys in the header. */
function apiKeyDoor(
  { keys, header }: { keys: readonly string[]; header: string },
): Gate & { header: string } {
  return {
    header,
    authenticate: (headers) =>
      admit(headers.get(header) ?? undefined, keys, BY_KEY),
    restore: ({ door }) => door === "api_key" ? BY_KEY : undefined,
    challenge: () => `ApiKey header="${header}"`,
  };
}
