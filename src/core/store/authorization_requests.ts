/**
 * Authorization requests while they pass through a browser: to consent, to the
 * provider, and back. The handle names the request in the consent form, and is
 * the `state` towards the provider. It is of no use without the browser's
 * cookie.
 * @module
 */
import { checkBlocks, unlessBlocked } from "./blocks.ts";
import {
  fingerprint,
  isSameSecret,
  randomId,
  seal,
  unseal,
} from "../crypto/crypto.ts";
import type { AuthorizationRequest } from "../oauth/authorization_request.ts";
import { deriveKey } from "../oauth/refresh_token.ts";
import type { Grant } from "../oauth/grant.ts";
import {
  AUTHORIZATION_REQUEST_TTL_SECONDS,
  SIGN_IN_LEASE_SECONDS,
} from "../oauth/lifetimes.ts";
import { issueCode } from "./codes.ts";
import type { Database, Found, Transaction, Write } from "../kv/database.ts";
import { authorizationRequestKey } from "../kv/keys.ts";
import { keepLease, type Leasable, recordLeases } from "../kv/record_leases.ts";

const responseKey = (handle: string) => deriveKey(handle, "code");

/** The record of a request while a person signs in. */
interface RequestRecord extends Leasable {
  request: AuthorizationRequest;
  clientName: string;
  /** The scopes that the client's request named. */
  named: readonly string[];
  /** The offered scopes that the person has revoked before. */
  revokedScopes?: readonly string[];
  /**
   * True if the client needs no consent, so that the person only chooses a
   * provider.
   */
  isTrusted?: boolean;
  /** The requested scopes that the person approved. */
  consented?: readonly string[];
  /** The fingerprint of the browser's cookie. */
  browserFingerprint: string;
  phase: "consent" | "upstream" | "done";
  /** The id of the provider to which the person was sent. */
  provider?: string;
  /** The phase in which the request ended with a refusal. */
  refusedIn?: "consent" | "upstream";
  /** True if the request ended with a code, not with a refusal. */
  isSignedIn?: boolean;
  /** The code, encrypted with a key derived from the handle. */
  sealedCode?: string;
  /** True if the provider has already refused one code as unknown or used. */
  hasDeadCode?: boolean;
}

/**
 * A request as it was read. A change fails if the request has changed since.
 */
export interface FoundRequest extends Found<RequestRecord> {
  handle: string;
}

/**
 * Makes the store of authorization requests. `browser` is the value of a
 * browser's cookie.
 */
export function authorizationRequestStore(database: Database) {
  const leases = recordLeases(database, SIGN_IN_LEASE_SECONDS);

  /**
   * Changes a request. Returns undefined if another commit changed it first.
   */
  function change(
    found: FoundRequest,
    changes: Partial<RequestRecord>,
    extraWrites?: Write,
  ): Promise<FoundRequest | undefined> {
    const value = { ...keepLease(found), ...changes };
    return database.replace(found, value, extraWrites);
  }

  return {
    /**
     * Stores a new request and returns its handle. The request waits for
     * consent, unless `provider` is given.
     *
     * @param provider the id of the provider to which the person is sent at
     * once
     * @throws {import("../errors.ts").OAuthError} `access_denied` if the client
     * is blocked
     */
    async save(
      browser: string,
      request: Pick<
        RequestRecord,
        "request" | "clientName" | "named" | "revokedScopes" | "isTrusted"
      >,
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
      const client = { clientId: request.request.clientId };
      const write = (transaction: Transaction) =>
        unlessBlocked(transaction, client)
          .create(authorizationRequestKey(handle), record);
      while (!await database.commit(write)) await checkBlocks(database, client);
      return handle;
    },

    /** Finds a request that began in a browser. */
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
      if (!isOwn) return undefined;
      const { refusedIn, ...value } = found.value;
      // The refusal was answered with 503, so the request has not ended.
      if (refusedIn !== undefined && await database.mayRepeat(found)) {
        value.phase = refusedIn;
      }
      return { ...found, handle, value };
    },

    /**
     * Records the person's consent, before the sign-in at the provider. Returns
     * false if another commit changed the request first.
     *
     * @throws {import("../errors.ts").OAuthError} `access_denied` if the client
     * is blocked
     */
    async approve(
      found: FoundRequest,
      { consented, provider }: {
        consented: readonly string[];
        /** The id of the provider to which the person is sent. */
        provider: string;
      },
    ): Promise<boolean> {
      const { isTrusted, request: { clientId } } = found.value;
      const approved = await change(
        found,
        { phase: "upstream", provider, ...!isTrusted && { consented } },
        (transaction) => unlessBlocked(transaction, { clientId }),
      );
      if (!approved) await checkBlocks(database, { clientId });
      return approved !== undefined;
    },

    /**
     * Ends a request with a refusal. Returns false if another commit changed
     * the request first.
     */
    async finish(found: FoundRequest): Promise<boolean> {
      const { phase } = found.value;
      if (phase === "done") return false;
      return await change(found, { phase: "done", refusedIn: phase }) !==
        undefined;
    },

    /**
     * Leases a request, to redeem the provider's code. Returns undefined if
     * another process holds the lease. The lease lapses if its process dies.
     */
    async lease(found: FoundRequest): Promise<FoundRequest | undefined> {
      if (found.value.phase !== "upstream") return undefined;
      return await leases.lease(found, (lease) => database.mayRepeat(lease));
    },

    /**
     * Returns the code of a request whose client got a 503 in place of it.
     * Undefined if there is none.
     */
    async replayCode(found: FoundRequest): Promise<string | undefined> {
      const { handle, value: { sealedCode } } = found;
      if (sealedCode === undefined || !await database.mayRepeat(found)) {
        return undefined;
      }
      const code = await unseal(responseKey(handle), sealedCode);
      // Writes the record again, with the mark of a commit that is not answered
      // with 503, so that the next attempt is refused.
      return await change(found, {}) && code;
    },

    /**
     * Ends the lease of a request whose code the provider did not redeem. If
     * that fails, the lease lapses.
     */
    async release(found: FoundRequest, hasDeadCode?: true): Promise<void> {
      try {
        const changes = hasDeadCode ? { hasDeadCode } : {};
        await change(found, { ...changes, leaseUntil: undefined });
      } catch {
        database.giveUp(found);
      }
    },

    /**
     * Completes a leased request with a grant, and returns the client's code.
     * Returns undefined if the lease had lapsed and another process was first,
     * or if a check of `extraWrites` fails.
     *
     * @param outcome `extraWrites`: further writes of the same commit
     * @throws {import("../errors.ts").OAuthError} `access_denied` if the person
     * or the client is blocked
     */
    async complete(
      found: FoundRequest,
      { grant, upstreamTokens, extraWrites }: {
        grant: Grant;
        /** The provider's tokens as JSON. */
        upstreamTokens: string;
        extraWrites?: Write;
      },
    ): Promise<string | undefined> {
      const { code, write } = await issueCode(
        grant,
        found.value.request,
        upstreamTokens,
      );
      const sealedCode = await seal(responseKey(found.handle), code);
      const completed = await database.commit((transaction) => {
        transaction.check(found).set<RequestRecord>(found.key, {
          ...found.value,
          phase: "done",
          isSignedIn: true,
          sealedCode,
        });
        write(transaction);
        extraWrites?.(transaction);
      });
      if (completed !== undefined) return code;
      await checkBlocks(database, grant);
    },
  };
}
