/**
 * The door of `AUTH_STRATEGY=oauth`: access tokens that we issued.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import type { Scopes } from "../../authoring/scope.ts";
import type { Authenticated } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import { parseBearer, printChallenge } from "../rules/challenge.ts";
import { resourceMetadataUrl, serverMetadataUrl } from "../rules/resource.ts";
import type { Gate } from "./gate.ts";

/** Lets in whom the authorization server knows by their access token. */
export function oauthDoor(
  { baseUrl, scopes: { usual }, verify, restore }: {
    baseUrl: string;
    /** Those named in a challenge that needs no particular ones. */
    scopes: Pick<Scopes, "usual">;
    /** Verifies an access token. @throws {ChallengeError} */
    verify(token: string): MaybePromise<Authenticated>;
    restore: Gate["restore"];
  },
): Gate {
  return {
    authenticate(headers) {
      const token = parseBearer(headers.get("authorization"));
      if (token === undefined) throw new ChallengeError("Sign in first");
      return verify(token);
    },

    restore,

    challenge: (refusal, sid) =>
      // RFC 9728 clients follow the first; other clients look for the second.
      printChallenge(refusal, {
        resource_metadata: resourceMetadataUrl(baseUrl, sid),
        authorization_uri: serverMetadataUrl(baseUrl),
      }, usual),
  };
}
