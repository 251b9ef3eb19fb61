/**
 * The doors of `AUTH_STRATEGY=bearer` and `api_key`, whose credentials the
 * operator chose and hands out, and several doors at once.
 *
 * @module
 */
import type { Authenticated, Door } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import { type Gate, parseBearer, printChallenge } from "./gate.ts";
import { tokenShape } from "../rules/credential.ts";
import type { AuthConfig } from "../../settings/auth.ts";
import { isSameSecret } from "../../crypto/crypto.ts";

interface Doors {
  oauth?: Gate;
  jwt?: Gate;
  bearer?: Gate;
  apiKey?: Gate & { header: string };
}

/**
 * Makes one gate for all doors; a single door keeps its own gate. The kind of
 * credential in a request decides which of them is asked, and no other is. So a
 * refusal is the refusal of one door, and a stolen credential opens only one.
 */
export function gateOfDoors(doors: Doors): Gate {
  const { oauth, jwt, bearer, apiKey } = doors;
  const open = [oauth, jwt, bearer, apiKey].filter((gate) =>
    gate !== undefined
  );
  if (open.length === 1) return open[0];
  const takesTokens = oauth ?? jwt ?? bearer;
  const byDoor = { oauth, token: oauth, jwt, bearer, api_key: apiKey };

  /** Finds the door for a token, which may be static if that door is closed. */
  function doorOf(token: string): Gate | undefined {
    switch (tokenShape(token)) {
      case "own":
        return oauth ?? bearer;
      case "jwt":
        return jwt ?? bearer;
      case "static":
        return bearer;
    }
  }

  function authenticate(
    headers: Headers,
  ): Authenticated | Promise<Authenticated> {
    const token = parseBearer(headers.get("authorization"));
    if (token === undefined) {
      if (apiKey && headers.has(apiKey.header)) {
        return apiKey.authenticate(headers);
      }
      throw new ChallengeError("Sign in first");
    }
    const door = doorOf(token);
    if (door) return door.authenticate(headers);
    throw new ChallengeError(
      "This server does not accept access tokens of this kind",
      "invalid_token",
    );
  }

  return {
    authenticate,
    restore: (caller) => caller.door && byDoor[caller.door]?.restore(caller),
    // The TypeScript SDK reads the first scheme only, so Bearer comes first;
    // the metadata that it names lists every authorization server.
    challenge: (refusal, sid) =>
      [takesTokens, apiKey].filter((gate) => gate !== undefined)
        .map((gate) => gate.challenge(refusal, sid)).join(", "),
  };
}

/** Makes the caller of static credentials: the operator. */
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
