/**
 * Authorization codes: accepted once, within 60 seconds, from the client that
 * requested them.
 *
 * @see RFC 6749 §4.1.2, RFC 9700 §2.1.1
 * @module
 */
import { OAuthError } from "../errors.ts";
import { parseCredential } from "../auth/rules/credential.ts";
import { type Grant, useGrant } from "../auth/rules/grant.ts";
import type { MayHold } from "../auth/rules/held_scopes.ts";
import { USED_CODE_TTL_SECONDS } from "../auth/rules/lifetimes.ts";
import { checkCodeVerifier } from "../auth/rules/pkce.ts";
import { deriveKey, unwrapDataKey } from "../auth/rules/data_key.ts";
import type { IssuedTokens } from "../auth/rules/token_request.ts";
import { seal, unseal } from "../crypto/seal.ts";
import type { Database, Entry, Expiring } from "./database.ts";
import { grantStore } from "./grants.ts";
import { issueTokens } from "./issuance.ts";
import { codeKey, grantKey, upstreamKey } from "./keys.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

/** The record of a code. */
export interface CodeRecord extends Expiring {
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  /** The grant's data key, sealed with the code. */
  wrappedKey: string;
  usedAt?: number;
  /** The tokens that it was exchanged for, sealed with a key derived from it. */
  sealed?: string;
}

/** A redemption by a client that has authenticated. */
interface Redemption {
  code: string;
  clientId: string;
  codeVerifier: string;
  redirectUri?: string;
  /** True if the client registered for refresh tokens. */
  refreshable: boolean;
  /** Tells the scopes of its tokens; by default all granted ones. */
  mayHold?: MayHold;
  /** The code, if reading it has begun. */
  reading?: Promise<ReadCode | undefined>;
}

/** All records that a code leads to. */
export interface ReadCode {
  grantId: string;
  entries: [Entry<CodeRecord>, Entry<Grant>, Entry<UpstreamRecord>];
}

export type CodeStore = ReturnType<typeof codeStore>;

/** Opens the authorization codes of a database. */
export function codeStore(database: Database) {
  const grants = grantStore(database);

  /** Reads all records of a code; undefined if it is not one. */
  async function read(code: string): Promise<ReadCode | undefined> {
    const credential = parseCredential(code);
    if (credential?.kind !== "code") return undefined;
    const { grantId } = credential;
    const entries = await database.getMany<
      [CodeRecord, Grant, UpstreamRecord]
    >([codeKey(code), grantKey(grantId), upstreamKey(grantId)]);
    return { grantId, entries };
  }

  /**
   * Gives the tokens that a used code was exchanged for, if its client was told
   * 503.
   *
   * @throws {StorageError} while another process may still be about to say so
   */
  async function answerAgain(
    code: string,
    { grantId, entries: [used, { value: grant }] }: ReadCode,
  ): Promise<IssuedTokens | undefined> {
    if (grant?.status !== "active") return undefined;
    if (!await database.mayRepeat(used)) return undefined;
    const { key, value: record } = used;
    if (record?.sealed === undefined) return undefined;
    const tokens: IssuedTokens = JSON.parse(
      await unseal(answerKey(code), record.sealed, grantId),
    );
    if (tokens.expiresAt <= database.now()) return undefined;
    // Written again by a commit that has its answer: from now on the code
    // counts as used.
    const isTold = await database.commit((transaction) =>
      transaction.check(used).set(key, record)
    );
    return isTold ? tokens : undefined;
  }

  return {
    read,

    /**
     * Redeems a code. One of any number of attempts gets tokens; a later one by
     * the same client, with the right verifier, ends the grant. An attempt that
     * was answered with 503 but applied later does not count: the next one gets
     * its tokens.
     *
     * @throws {OAuthError} `invalid_grant`
     */
    async use(
      { code, clientId, redirectUri, mayHold, ...redemption }: Redemption,
    ): Promise<IssuedTokens> {
      const { codeVerifier, refreshable } = redemption;
      for (let { reading } = redemption;; reading = undefined) {
        const known = await (reading ?? read(code));
        if (!known) refuse();
        const { grantId, entries } = known;
        const [{ key, value: found }, { value: grant }, { value: upstream }] =
          entries;
        if (!found || found.clientId !== clientId) refuse();
        if (redirectUri !== undefined && redirectUri !== found.redirectUri) {
          throw new OAuthError(
            "invalid_grant",
            "redirect_uri is not that of the authorization request",
          );
        }
        checkCodeVerifier(codeVerifier, found.codeChallenge);
        if (found.usedAt !== undefined) {
          const tokens = await answerAgain(code, known);
          if (tokens) return tokens;
          await grants.close(grantId);
          throw new OAuthError("invalid_grant", "The code was used before");
        }
        if (grant?.status !== "pending" || !upstream) refuse();

        const time = database.now();
        const used = useGrant(grant, { refreshable, now: time });
        const held = mayHold ? mayHold(used) : used;
        if (!held) refuse();
        const { tokens, write } = await issueTokens(used, {
          dataKey: await unwrapDataKey(found.wrappedKey, grantId, code),
          scopes: held.scopes,
          now: time,
        });
        const usedCode: CodeRecord = {
          ...found,
          wrappedKey: "",
          usedAt: time,
          sealed: await seal(
            answerKey(code),
            JSON.stringify(tokens),
            grantId,
          ),
          expiresAt: time + USED_CODE_TTL_SECONDS,
        };
        const won = await database.commit((transaction) =>
          write(transaction)
            .check(...entries)
            .set(key, usedCode)
            // For the longest possible life of the grant, so that refreshes
            // need not rewrite it.
            .set(upstreamKey(grantId), { ...upstream, expiresAt: used.endsAt })
        );
        if (won) return tokens;
      }
    },
  };
}

function answerKey(code: string): Uint8Array {
  return deriveKey(code, "tokens");
}

function refuse(): never {
  throw new OAuthError("invalid_grant", "The code is unknown or has expired");
}
