/**
 * People's passkeys at one server: requests to the browser, and its responses
 * (WebAuthn Level 3 §5).
 *
 * @module
 */
import type { OpenedServer } from "../../core/store/opened_server.ts";
import { approvalTools } from "./approval_tools.ts";
import type { AccountPageServices } from "../account_page/account_pages.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { canonicalJson } from "../../core/json.ts";
import type { CallApproval } from "./call_approval.ts";
import { HttpError } from "../../core/errors.ts";
import type { Write } from "../../core/kv/database.ts";
import { makeOncePerServer } from "../../core/store/opened_server.ts";
import {
  ALGORITHMS,
  type OwnPasskeys,
  type Passkey,
  passkeyStore,
} from "./passkey_store.ts";

/** True if a tool of the server asks for passkeys. */
export function asksForPasskeys(server: OpenedServer): boolean {
  return [...approvalTools.get(server)?.tools.values() ?? []]
    .some(({ approval }) => approval?.passkey);
}

/**
 * True if the server's host is an IP address. Browsers make no passkeys for it,
 * because it cannot be an RP ID (WebAuthn Level 3 §5.1.2).
 */
export function isNumeric(baseUrl: string): boolean {
  return /^\[|^[\d.]+$/.test(new URL(baseUrl).hostname);
}

/** The time that a person has to make or use a passkey. */
const GESTURE_MILLISECONDS = 5 * 60 * 1000;

/** A person's passkeys, for a page that asks for one. */
export interface AskedPasskey
  extends Pick<OwnPasskeys, "hasAny" | "from" | "stays"> {
  /**
   * The options of `navigator.credentials.get`. Undefined if no passkey can
   * approve now.
   */
  get?: object;
  /**
   * Checks the response of a passkey that can approve now.
   *
   * @returns the passkey's name, and the write that records its use
   * @throws {HttpError} 403
   */
  use(response: string | undefined): Promise<{ name: string; write: Write }>;
}

export const passkeyStoreOf = makeOncePerServer(({ database }) =>
  passkeyStore(database)
);

/**
 * Makes the challenge for an approval: a hash of the page's contents and its
 * reader. A refusal changes the page, so that earlier signatures become
 * invalid.
 */
export function challengeOf(
  { id, tool, clientId, clientName, payload, answer }: CallApproval,
  subject: string,
): string {
  const app = [clientId ?? null, clientName ?? null];
  const refused = answer ? [answer.by, answer.at] : null;
  const shown = ["approve", id, subject, tool, app, { ...payload }, refused];
  return fingerprint(canonicalJson(shown));
}

export function passkeysOf(
  { baseUrl, frame, server }: Pick<
    AccountPageServices,
    "baseUrl" | "frame" | "server"
  >,
) {
  const store = passkeyStoreOf(server);
  const { origin, hostname: rpId } = new URL(baseUrl);
  const isPossible = !isNumeric(baseUrl);
  const site = {
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  };
  const check = () => import("./passkey_check.ts");

  function requestOf(challenge: string, passkeys: readonly Passkey[]): object {
    return {
      challenge,
      rpId,
      timeout: GESTURE_MILLISECONDS,
      userVerification: "required",
      allowCredentials: passkeys.map(({ id }) => ({ id, type: "public-key" })),
    };
  }

  return {
    store,
    isPossible,

    /** Reads a person's passkeys, and makes the request for one of them. */
    async ask(subject: string, challenge: string): Promise<AskedPasskey> {
      const { usable, hasAny, from, stays, noting } = await store.find(subject);
      return {
        hasAny,
        from,
        stays,
        get: usable.length > 0 ? requestOf(challenge, usable) : undefined,
        async use(response = "") {
          const { checkUsed, refused } = await check();
          const used = await checkUsed(response, challenge, site, usable);
          const write = noting(used);
          if (!write) throw refused();
          return { name: used.name, write };
        },
      };
    },

    /** Makes the options of `navigator.credentials.create`. */
    creation(
      { subject, name, challenge, own }: {
        subject: string;
        /** The name of the person in the authenticator's list. */
        name: string;
        challenge: string;
        own: readonly Passkey[];
      },
    ): object {
      return {
        challenge,
        rp: { id: rpId, name: frame.serverTitle },
        user: { id: fingerprint(subject), name, displayName: name },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({
          alg,
          type: "public-key",
        })),
        timeout: GESTURE_MILLISECONDS,
        attestation: "none",
        authenticatorSelection: {
          residentKey: "preferred",
          userVerification: "required",
        },
        excludeCredentials: own.map(({ id }) => ({ id, type: "public-key" })),
      };
    },

    /**
     * Stores a new passkey.
     *
     * @throws {HttpError} 403 for an invalid response, 409 if it is already
     * stored or there are too many
     */
    async make(
      subject: string,
      { name, response, challenge }: Record<
        "name" | "response" | "challenge",
        string
      >,
      extraWrites: Write,
    ): Promise<Passkey> {
      const { checkMade } = await check();
      const made = await checkMade(response, challenge, site);
      const passkey = await store.add(subject, { ...made, name }, extraWrites);
      if (passkey) return passkey;
      throw new HttpError(
        409,
        "It was not kept: it is there already, or there are too many passkeys",
      );
    },

    /**
     * Makes the request for an older passkey, which lets a new one approve at
     * once.
     */
    confirmation(
      subject: string,
      waiting: Passkey,
      usable: readonly Passkey[],
    ): object {
      return requestOf(confirmChallenge(subject, waiting), usable);
    },

    /**
     * Lets a new passkey approve at once, with the response of an older one.
     *
     * @throws {HttpError} 403
     */
    async confirm(
      subject: string,
      id: string,
      response: string,
      extraWrites: Write,
    ): Promise<Passkey> {
      const { checkUsed, refused } = await check();
      const { own, usable } = await store.find(subject);
      const waiting = own.find((it) => it.id === id);
      if (!waiting) throw refused();
      const challenge = confirmChallenge(subject, waiting);
      const used = await checkUsed(response, challenge, site, usable);
      const made = await store.confirm(subject, id, used, extraWrites);
      if (made) return made;
      throw refused();
    },
  };

  /**
   * Makes the challenge for confirming one new passkey. The response confirms
   * no other passkey, nor the same one if it is removed and made again.
   */
  function confirmChallenge(
    subject: string,
    { id, publicKey, name, createdAt }: Passkey,
  ): string {
    const made = [id, publicKey, name, createdAt];
    return fingerprint(JSON.stringify(["confirm", origin, subject, ...made]));
  }
}
