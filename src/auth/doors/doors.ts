/**
 * Several doors at once. The kind of credential in a request decides which of
 * them is asked, and no other is. So a refusal is the refusal of one door, and a
 * stolen credential opens only one.
 *
 * @module
 */
import type { Authenticated } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import { parseBearer } from "../rules/challenge.ts";
import { tokenShape } from "../rules/credential.ts";
import type { Gate } from "./gate.ts";

/** The doors that are open. */
export interface Doors {
  oauth?: Gate;
  jwt?: Gate;
  bearer?: Gate;
  apiKey?: Gate & { header: string };
}

/** Makes one gate for all doors; a single door keeps its own gate. */
export function gateOfDoors(doors: Doors): Gate {
  const { oauth, jwt, bearer, apiKey } = doors;
  const open = [oauth, jwt, bearer, apiKey].filter((gate) =>
    gate !== undefined
  );
  if (open.length === 1) return open[0];
  const takesTokens = oauth ?? jwt ?? bearer;

  /**
   * Finds the door for a token. If the door of its shape is closed, the token
   * is just a text and may be a static one.
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
    restore: (caller) => {
      switch (caller.door) {
        case "oauth":
        case "token":
          return oauth?.restore(caller);
        case "jwt":
          return jwt?.restore(caller);
        case "bearer":
          return bearer?.restore(caller);
        case "api_key":
          return apiKey?.restore(caller);
      }
    },
    // The TypeScript SDK reads the first scheme only, so Bearer comes first;
    // the metadata that it names lists every authorization server.
    challenge: (refusal, sid) =>
      [takesTokens, apiKey].filter((gate) => gate !== undefined)
        .map((gate) => gate.challenge(refusal, sid)).join(", "),
  };
}
