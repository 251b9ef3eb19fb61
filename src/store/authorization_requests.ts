/**
 * Authorization requests on their way through a browser: consent, the
 * provider, and back. The handle names the request in the consent form and is
 * the `state` towards the provider; without the browser's cookie it opens
 * nothing.
 *
 * @module
 */
import { fingerprint, isSameSecret, randomId } from "../crypto.ts";
import type { AuthorizationRequest } from "../oauth/authorization_request.ts";
import { mintCredential } from "../oauth/credential.ts";
import { newDataKey, wrapDataKey } from "../oauth/data_key.ts";
import type { Grant } from "../oauth/grant.ts";
import {
  AUTHORIZATION_REQUEST_TTL_SECONDS,
  SIGN_IN_LEASE_SECONDS,
} from "../oauth/lifetimes.ts";
import { seal } from "../seal.ts";
import type { CodeRecord } from "./codes.ts";
import type { Database, Expiring, Found } from "./database.ts";
import { setGrant } from "./grants.ts";
import { authorizationRequestKey, codeKey, upstreamKey } from "./keys.ts";
import { tidy } from "./persist.ts";
import type { Transaction, Write } from "./transaction.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

/** The record of a request while a person signs in. */
export interface RequestRecord extends Expiring {
  request: AuthorizationRequest;
  clientName: string;
  /** The requested scopes that the person approved. */
  consented?: readonly string[];
  /** The fingerprint of the cookie of the browser in which it began. */
  browserFingerprint: string;
  phase: "consent" | "upstream" | "done";
  /**
   * The `providerId` of where the person was sent; absent before that, and in
   * requests from before 0.3.
   */
  provider?: string;
  /** True if it ended with a code, not with a refusal. */
  isSignedIn?: boolean;
  /** The time until which one process may redeem the provider's code. */
  leaseUntil?: number;
}

/** A request as it was read; the first change to it wins. */
export interface FoundRequest extends Found<RequestRecord> {
  handle: string;
}

/** The result of a sign-in. */
export interface SignInOutcome {
  grant: Grant;
  /** The provider's tokens, as text. */
  upstreamTokens: string;
  also?: Write;
}

export type AuthorizationRequestStore = ReturnType<
  typeof authorizationRequestStore
>;

/**
 * Opens the authorization requests of a database. `browser` is the value of its
 * cookie.
 */
export function authorizationRequestStore(database: Database) {
  function replace(
    transaction: Transaction,
    found: FoundRequest,
    record: RequestRecord,
  ): Transaction {
    return transaction.check(found).set(found.key, record);
  }

  function change(
    found: FoundRequest,
    changes: Partial<RequestRecord>,
  ): Promise<string | undefined> {
    return database.commit((transaction) =>
      replace(transaction, found, { ...found.value, ...changes })
    );
  }

  return {
    /**
     * Stores a new request and gives its handle. It waits for consent, unless
     * no consent is needed.
     *
     * @param provider where the person is sent without being asked
     */
    async save(
      browser: string,
      request: Pick<RequestRecord, "request" | "clientName">,
      provider?: string,
    ): Promise<string> {
      const handle = randomId();
      const record: RequestRecord = {
        ...request,
        browserFingerprint: fingerprint(browser),
        phase: provider === undefined ? "consent" : "upstream",
        ...provider !== undefined && { provider },
        expiresAt: database.now() + AUTHORIZATION_REQUEST_TTL_SECONDS,
      };
      await database.commit((transaction) =>
        transaction.set(authorizationRequestKey(handle), record)
      );
      return handle;
    },

    /** Finds a request that began in this browser. */
    async find(
      handle: string,
      browser: string,
    ): Promise<FoundRequest | undefined> {
      const found = await database.find<RequestRecord>(
        authorizationRequestKey(handle),
      );
      const isOwn = found && isSameSecret(
        fingerprint(browser),
        found.value.browserFingerprint,
      );
      return isOwn ? { ...found, handle } : undefined;
    },

    /**
     * Records the person's consent; the provider comes next. False: another
     * request was faster.
     */
    async approve(
      found: FoundRequest,
      { consented, provider }: {
        consented: readonly string[];
        /** The `providerId` of where the person is sent. */
        provider: string;
      },
    ): Promise<boolean> {
      const changes = { phase: "upstream", consented, provider } as const;
      return await change(found, changes) !== undefined;
    },

    /** Marks a request as answered. False: another request was faster. */
    async finish(found: FoundRequest): Promise<boolean> {
      return await change(found, { phase: "done" }) !== undefined;
    },

    /**
     * Leases a request, to redeem the provider's code; undefined if another
     * process holds the lease. A lease expires if its holder dies.
     */
    async lease(found: FoundRequest): Promise<FoundRequest | undefined> {
      const { value } = found;
      const time = database.now();
      if (value.phase !== "upstream" || (value.leaseUntil ?? 0) > time) {
        return undefined;
      }
      const leaseUntil = time + SIGN_IN_LEASE_SECONDS;
      const versionstamp = await change(found, { leaseUntil });
      if (versionstamp === undefined) return undefined;
      return { ...found, value: { ...value, leaseUntil }, versionstamp };
    },

    /**
     * Gives up a lease because the provider did not answer; otherwise it would
     * just expire.
     */
    async release(found: FoundRequest): Promise<void> {
      await tidy(() => change(found, { leaseUntil: undefined }));
    },

    /**
     * Ends a leased request with a grant and gives the client's code; undefined
     * if the lease had expired and another process was faster.
     *
     * @param outcome includes further writes of the same commit; undefined is
     * returned also if their checks fail
     */
    async complete(
      found: FoundRequest,
      { grant, upstreamTokens, also }: SignInOutcome,
    ): Promise<string | undefined> {
      const { request } = found.value;
      const { id, expiresAt } = grant;
      const code = mintCredential("code", id);
      const dataKey = newDataKey();
      const codeRecord: CodeRecord = {
        clientId: request.clientId,
        redirectUri: request.redirectUri,
        codeChallenge: request.codeChallenge,
        wrappedKey: await wrapDataKey(dataKey, id, code),
        expiresAt,
      };
      const upstream: UpstreamRecord = {
        sealed: await seal(dataKey, upstreamTokens, id),
        expiresAt,
      };
      const completed = await database.commit((transaction) => {
        replace(transaction, found, {
          ...found.value,
          phase: "done",
          isSignedIn: true,
        });
        setGrant(transaction, grant)
          .set(codeKey(code), codeRecord)
          .set(upstreamKey(id), upstream);
        also?.(transaction);
      });
      return completed === undefined ? undefined : code;
    },
  };
}
