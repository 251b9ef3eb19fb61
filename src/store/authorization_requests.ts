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
import { setGrant } from "./grants.ts";
import { authorizationRequestKey, codeKey, upstreamKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find, type Found } from "./kv.ts";
import { now } from "../clock.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

/** What is remembered of a request while a person signs in. */
export interface RequestRecord extends Expiring {
  request: AuthorizationRequest;
  clientName: string;
  /** Of the cookie of the browser that it began in. */
  browserFingerprint: string;
  phase: "consent" | "upstream" | "done";
  /** Somebody redeems the provider's code, until then at the latest. */
  leaseUntil?: number;
}

/** A request as it was read; whoever changes it first wins. */
export interface FoundRequest extends Found<RequestRecord> {
  handle: string;
}

/** Authorization requests in Deno KV. `browser` is the value of its cookie. */
export interface AuthorizationRequestStore {
  /** Keeps a new request and gives its handle. */
  save(
    browser: string,
    request: Pick<RequestRecord, "request" | "clientName">,
  ): Promise<string>;
  /** A request that began in this browser. */
  find(handle: string, browser: string): Promise<FoundRequest | undefined>;
  /** The person said yes; the provider comes next. False: somebody was faster. */
  approve(found: FoundRequest): Promise<boolean>;
  /** The request has its answer. False: somebody was faster. */
  finish(found: FoundRequest): Promise<boolean>;
  /**
   * Takes a request for the redemption of the provider's code; undefined when
   * somebody else has. A lease whose holder died lapses.
   */
  lease(found: FoundRequest): Promise<FoundRequest | undefined>;
  /** Gives a leased request back: the provider did not answer. */
  release(found: FoundRequest): Promise<void>;
  /**
   * Ends a leased request with a grant and gives the client's code; undefined
   * when the lease had lapsed and somebody else was faster.
   */
  complete(
    found: FoundRequest,
    outcome: { grant: Grant; upstreamTokens: string },
  ): Promise<string | undefined>;
}

/** Authorization requests in a database. */
export function authorizationRequestStore(
  kv: Deno.Kv,
): AuthorizationRequestStore {
  function replace(
    operation: Deno.AtomicOperation,
    { handle, versionstamp }: FoundRequest,
    record: RequestRecord,
  ): Deno.AtomicOperation {
    const key = authorizationRequestKey(handle);
    return operation.check({ key, versionstamp })
      .set(key, record, expireIn(record));
  }

  function change(
    found: FoundRequest,
    changes: Partial<RequestRecord>,
  ): Promise<boolean> {
    return commit(
      kv,
      (operation) => replace(operation, found, { ...found.value, ...changes }),
    );
  }

  async function findOwn(handle: string, browser: string) {
    const found = await find<RequestRecord>(
      kv,
      authorizationRequestKey(handle),
    );
    const own = found && isSameSecret(
      fingerprint(browser),
      found.value.browserFingerprint,
    );
    return own ? { ...found, handle } : undefined;
  }

  return {
    async save(browser, request) {
      const handle = randomId();
      const record: RequestRecord = {
        ...request,
        browserFingerprint: fingerprint(browser),
        phase: "consent",
        expiresAt: now() + AUTHORIZATION_REQUEST_TTL_SECONDS,
      };
      await commit(kv, (operation) =>
        operation.set(
          authorizationRequestKey(handle),
          record,
          expireIn(record),
        ));
      return handle;
    },

    find: findOwn,
    approve: (found) => change(found, { phase: "upstream" }),
    finish: (found) => change(found, { phase: "done" }),

    async lease(found) {
      const { value, handle } = found;
      const time = now();
      if (value.phase !== "upstream" || (value.leaseUntil ?? 0) > time) {
        return undefined;
      }
      const leaseUntil = time + SIGN_IN_LEASE_SECONDS;
      if (!await change(found, { leaseUntil })) return undefined;
      const leased = await find<RequestRecord>(
        kv,
        authorizationRequestKey(handle),
      );
      return leased && { ...leased, handle };
    },

    async release(found) {
      await change(found, { leaseUntil: undefined });
    },

    async complete(found, { grant, upstreamTokens }) {
      const { request } = found.value;
      const { id, expiresAt } = grant;
      const code = mintCredential("code", id);
      const dataKey = newDataKey();
      const codeRecord: CodeRecord = {
        grantId: id,
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
      const completed = await commit(kv, (operation) => {
        replace(operation, found, { ...found.value, phase: "done" });
        return setGrant(operation, grant)
          .set(codeKey(code), codeRecord, expireIn(codeRecord))
          .set(upstreamKey(id), upstream, expireIn(upstream));
      });
      return completed ? code : undefined;
    },
  };
}
