/**
 * Authentication for `AUTH_STRATEGY=bearer` and `api_key`, with credentials
 * chosen by the operator; and the combination of several strategies.
 *
 * @module
 */
import type { Authenticated } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import { type Gate, parseBearer, printChallenge } from "./gate.ts";
import { tokenShape } from "../../oauth/credential.ts";
import type { AuthConfig } from "../../settings/auth.ts";
import { isSameSecret } from "../../crypto/crypto.ts";

interface Doors {
  oauth?: Gate;
  jwt?: Gate;
  bearer?: Gate;
  apiKey?: Gate & { header: string };
}

/**
 * Combines the authentication methods of `AUTH_STRATEGY` in one gate. The
 * format of a credential selects the only method that checks it. So each
 * refusal comes from one method, and a stolen credential works with only one.
 */
export function gateOfDoors(doors: Doors): Gate {
  const { oauth, jwt, bearer, apiKey } = doors;
  const open = [oauth, jwt, bearer, apiKey].filter((gate) =>
    gate !== undefined
  );
  if (open.length === 1) return open[0];
  const takesTokens = oauth ?? jwt ?? bearer;
  const byDoor = { oauth, token: oauth, jwt, bearer, api_key: apiKey };

  /**
   * Finds the authentication method for a token by its format. If that method
   * is not configured, the token is checked as a static one.
   */
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
    isConfigured: (caller) =>
      caller.door !== undefined &&
      (byDoor[caller.door]?.isConfigured(caller) ?? false),
    // Bearer comes first, because the TypeScript SDK reads only the first
    // scheme. The metadata that the Bearer challenge names lists every
    // authorization server.
    challenge: (refusal, sid) =>
      [takesTokens, apiKey].filter((gate) => gate !== undefined)
        .map((gate) => gate.challenge(refusal, sid)).join(", "),
  };
}

/**
 * Authenticates by static credentials. Any sender of one is the caller
 * `operator`.
 */
function staticDoor(
  door: "bearer" | "api_key",
  { accepted, presentedIn, challenge }: Pick<Gate, "challenge"> & {
    accepted: readonly string[];
    presentedIn(headers: Headers): string | undefined;
  },
): Gate {
  const holder: Authenticated = Object.freeze({
    caller: Object.freeze({
      subject: "operator",
      door,
      scopes: "all" as const,
      binding: "operator",
    }),
  });
  return {
    authenticate(headers) {
      const presented = presentedIn(headers);
      if (presented === undefined) {
        throw new ChallengeError("Credentials are needed");
      }
      // Compares every secret, even after a match, so that the time taken does
      // not reveal which secret was nearly right.
      const matches = accepted.filter((it) => isSameSecret(presented, it));
      if (matches.length > 0) return holder;
      throw new ChallengeError("The credentials are wrong", "invalid_token");
    },
    restore: (caller) => caller.door === door ? holder : undefined,
    isConfigured: (caller) => caller.door === door,
    challenge,
  };
}

/**
 * Makes the authentication methods for the static credentials in the settings.
 */
export function staticDoors(
  { bearer, apiKey }: AuthConfig,
): Pick<Doors, "bearer" | "apiKey"> {
  return {
    bearer: bearer && staticDoor("bearer", {
      accepted: bearer.tokens,
      presentedIn: (headers) => parseBearer(headers.get("authorization")),
      challenge: (refusal) => printChallenge(refusal),
    }),
    apiKey: apiKey && {
      header: apiKey.header,
      ...staticDoor("api_key", {
        accepted: apiKey.keys,
        presentedIn: (headers) => headers.get(apiKey.header) ?? undefined,
        challenge: () => `ApiKey header="${apiKey.header}"`,
      }),
    },
  };
}
