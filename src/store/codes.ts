/**
 * Authorization codes: each is exchanged once.
 *
 * @see RFC 6749 §4.1.2
 * @module
 */
import { parseCredential } from "../auth/rules/credential.ts";
import type { Grant } from "../auth/rules/grant.ts";
import {
  type Lifetimes,
  USED_CODE_TTL_SECONDS,
} from "../auth/rules/lifetimes.ts";
import { deriveKey, unwrapDataKey } from "../auth/rules/data_key.ts";
import type { IssuedTokens } from "../auth/rules/token_request.ts";
import { seal, unseal } from "../crypto/seal.ts";
import { checkBlocks } from "./blocks.ts";
import type { Database, Entry, Expiring } from "./database.ts";
import { issueTokens } from "./issuance.ts";
import { codeKey, grantKey, upstreamKey } from "./keys.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

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

/** All records that a code leads to. */
export interface ReadCode {
  grantId: string;
  code: Entry<CodeRecord>;
  grant: Entry<Grant>;
  upstream: Entry<UpstreamRecord>;
}

export type CodeStore = ReturnType<typeof codeStore>;

/** Opens the authorization codes of a database. */
export function codeStore(
  database: Database,
  lifetimes: Lifetimes,
) {
  return {
    /** Reads all records of a code; undefined if it is not one. */
    async read(code: string): Promise<ReadCode | undefined> {
      const credential = parseCredential(code);
      if (credential?.kind !== "code") return undefined;
      const { grantId } = credential;
      const [record, grant, upstream] = await database.getMany<
        [CodeRecord, Grant, UpstreamRecord]
      >([codeKey(code), grantKey(grantId), upstreamKey(grantId)]);
      return { grantId, code: record, grant, upstream };
    },

    /**
     * Gives the tokens that a used code was exchanged for, if its client was
     * told 503.
     *
     * @throws {StorageError} while another process may still be about to say so
     */
    async answerAgain(
      code: string,
      { grantId, code: used, grant: { value: grant } }: ReadCode,
    ): Promise<IssuedTokens | undefined> {
      if (grant?.status !== "active") return undefined;
      if (!await database.mayRepeat(used)) return undefined;
      const { key, value: record } = used;
      if (record?.sealed === undefined) return undefined;
      const tokens: IssuedTokens = JSON.parse(
        await unseal(answerKey(code), record.sealed, grantId),
      );
      if (tokens.expiresAt <= database.now()) return undefined;
      // The commit that writes it now is not given up: it counts as used.
      const isTold = await database.commit((transaction) =>
        transaction.check(used).set(key, record)
      );
      return isTold ? tokens : undefined;
    },

    /**
     * Exchanges a code for tokens of its grant; undefined if another request
     * was faster.
     *
     * @throws {import("../errors.ts").OAuthError} `invalid_grant` if the person
     * or the client is blocked
     * @param grant the grant in use
     * @param read the records of the code, as they were checked
     */
    async use(
      code: string,
      { grant, scopes, record, upstream, read }: {
        grant: Grant;
        scopes: readonly string[];
        record: CodeRecord;
        upstream: UpstreamRecord;
        read: ReadCode;
      },
    ): Promise<IssuedTokens | undefined> {
      const { id: grantId, endsAt } = grant;
      const time = database.now();
      const { tokens, write } = await issueTokens(grant, {
        dataKey: await unwrapDataKey(record.wrappedKey, grantId, code),
        scopes,
        now: time,
        lifetimes,
      });
      const used: CodeRecord = {
        ...record,
        wrappedKey: "",
        usedAt: time,
        sealed: await seal(answerKey(code), JSON.stringify(tokens), grantId),
        expiresAt: time + USED_CODE_TTL_SECONDS,
      };
      const won = await database.commit((transaction) =>
        write(transaction)
          .check(read.code, read.grant, read.upstream)
          .set(read.code.key, used)
          // For the longest possible life of the grant, so that refreshes need
          // not rewrite it.
          .set(read.upstream.key, { ...upstream, expiresAt: endsAt })
      );
      if (won) return tokens;
      await checkBlocks(database, grant, "invalid_grant");
    },
  };
}

function answerKey(code: string): Uint8Array {
  return deriveKey(code, "tokens");
}
