/**
 * The gate of `AUTH_STRATEGY=oauth`: access tokens that we issued.
 *
 * @module
 */
import type { Scopes } from "../../authoring/scope.ts";
import type { Authenticated } from "../../caller.ts";
import { ChallengeError, HttpError } from "../../errors.ts";
import { parseBearer, printChallenge } from "../rules/challenge.ts";
import { callerOf, type Grant } from "../rules/grant.ts";
import type { MayHold } from "../rules/held_scopes.ts";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import type { GrantStore } from "../../store/grants.ts";
import { type Clock, now } from "../../clock.ts";
import { recent } from "../../store/recent.ts";
import type { ProviderTokens } from "../provider/provider_tokens.ts";
import { resourceMetadataUrl, serverMetadataUrl } from "../rules/resource.ts";
import type { Gate } from "./gate.ts";

/** The result for a token, remembered for up to a second. */
interface Admitted {
  authenticated: Authenticated;
  expiresAt: number;
  /** True if the person paused the connection. */
  isPaused: boolean;
}

/** Lets in the holder of a live access token whose grant is valid here. */
export function oauthGate(
  {
    baseUrl,
    scopes: { usual },
    mayHold,
    accessTokens,
    grants,
    providerTokens,
    clock,
  }: {
    baseUrl: string;
    /**
     * The usual scopes are named in a challenge that needs no particular ones.
     */
    scopes: Scopes;
    /** Tells what a grant's tokens may still be used for. */
    mayHold: MayHold;
    accessTokens: AccessTokenStore;
    grants: Pick<GrantStore, "find" | "touch">;
    providerTokens: ProviderTokens;
    clock: Clock;
  },
): Gate {
  const admitted = recent(read, { clock });
  const live = recent(readGrant, { clock });

  async function readGrant(grantId: string): Promise<Grant | undefined> {
    return (await grants.find(grantId))?.value;
  }

  /** True if a grant still allows everything that it did. */
  async function isStillHeld(
    grantId: string,
    scopes: readonly string[],
  ): Promise<boolean> {
    const grant = await live.find(grantId);
    if (grant?.pausedAt !== undefined) return false;
    const held = grant && mayHold(grant, scopes);
    return held !== undefined && held.scopes.length === scopes.length;
  }

  async function read(token: string): Promise<Admitted | undefined> {
    const access = await accessTokens.find(token);
    if (!access) return undefined;
    const { grant, expiresAt, dataKey } = access;
    const held = mayHold(grant, access.scopes);
    if (!held) return undefined;
    const isPaused = grant.pausedAt !== undefined;
    if (grant.kind === "token" && !isPaused) grants.touch(grant.id);
    return {
      authenticated: {
        caller: callerOf(grant, held),
        upstream: dataKey &&
          providerTokens.upstream({ grant, dataKey }),
        isLive: (grantId = grant.id) => isStillHeld(grantId, held.scopes),
      },
      expiresAt,
      isPaused,
    };
  }

  function admit(found: Admitted | undefined): Authenticated {
    if (found && found.expiresAt > now(clock)) {
      if (!found.isPaused) return found.authenticated;
      // Not 401: a client would throw away tokens that will work again later.
      throw new HttpError(
        403,
        `This connection is paused: resume it at ${baseUrl}/account`,
      );
    }
    throw new ChallengeError(
      "The access token is unknown, expired or revoked",
      "invalid_token",
    );
  }

  return {
    authenticate(headers) {
      const token = parseBearer(headers.get("authorization"));
      if (token === undefined) throw new ChallengeError("Sign in first");
      const found = admitted.find(token);
      return found instanceof Promise ? found.then(admit) : admit(found);
    },

    challenge: (refusal, sid) =>
      // RFC 9728 clients follow the first; other clients look for the second.
      printChallenge(refusal, {
        resource_metadata: resourceMetadataUrl(baseUrl, sid),
        authorization_uri: serverMetadataUrl(baseUrl),
      }, usual),
  };
}
