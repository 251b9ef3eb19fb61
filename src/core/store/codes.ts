/**
 * Authorization codes: each can be redeemed once.
 *
 * @see RFC 6749 §4.1.2
 * @module
 */
import { mintCredential, parseCredential } from "../oauth/credential.ts";
import type { Grant } from "../oauth/grant.ts";
import { type Lifetimes, USED_CODE_TTL_SECONDS } from "../oauth/lifetimes.ts";
import {
  deriveKey,
  type IssuedTokens,
  newDataKey,
  unwrapDataKey,
  wrapDataKey,
} from "../oauth/refresh_token.ts";
import { seal, unseal } from "../crypto/crypto.ts";
import { checkBlocks, unlessBlocked } from "./blocks.ts";
import {
  type Database,
  type Entry,
  type Expiring,
  isFound,
  type Write,
} from "../kv/database.ts";
import { issueTokens, setGrant } from "./grants.ts";
import { codeKey, grantKey, upstreamKey } from "../kv/keys.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

const responseKey = (code: string) => deriveKey(code, "tokens");

interface CodeRecord extends Expiring {
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  /** The grant's data key, encrypted with the code. */
  wrappedKey: string;
  usedAt?: number;
  /**
   * The tokens that were issued for the code, encrypted with a key derived from
   * it.
   */
  sealed?: string;
}

export interface FoundCode {
  grantId: string;
  code: Entry<CodeRecord>;
  grant: Entry<Grant>;
  upstream: Entry<UpstreamRecord>;
}

/**
 * Makes a code, and the write that stores it with its grant and the provider's
 * tokens. The code is valid once `write` is committed.
 */
export async function issueCode(
  grant: Grant,
  { clientId, redirectUri, codeChallenge }: Pick<
    CodeRecord,
    "clientId" | "redirectUri" | "codeChallenge"
  >,
  upstreamTokens: string,
): Promise<{ code: string; write: Write }> {
  const { id, expiresAt } = grant;
  const code = mintCredential("code", id);
  const dataKey = newDataKey();
  const record: CodeRecord = {
    clientId,
    redirectUri,
    codeChallenge,
    wrappedKey: await wrapDataKey(dataKey, id, code),
    expiresAt,
  };
  const sealed = await seal(dataKey, upstreamTokens, id);
  return {
    code,
    write: (transaction) =>
      setGrant(unlessBlocked(transaction, grant), grant)
        .create(codeKey(code), record)
        .set<UpstreamRecord>(upstreamKey(id), { sealed, expiresAt }),
  };
}

export function codeStore(database: Database, lifetimes: Lifetimes) {
  return {
    /**
     * Reads all records of a code; undefined if the text does not look like a
     * code.
     */
    async read(code: string): Promise<FoundCode | undefined> {
      const credential = parseCredential(code);
      if (credential?.kind !== "code") return undefined;
      const { grantId } = credential;
      const [record, grant, upstream] = await database.getMany<
        [CodeRecord, Grant, UpstreamRecord]
      >([codeKey(code), grantKey(grantId), upstreamKey(grantId)]);
      return { grantId, code: record, grant, upstream };
    },

    /**
     * Returns the stored response to a code that was redeemed in a request
     * answered with 503, so that its client can retry. Undefined if there is
     * none.
     *
     * @throws {StorageError} if it is not yet known whether that request got a
     * 503
     */
    async replayResponse(
      code: string,
      { grantId, code: used, grant: { value: grant } }: FoundCode,
    ): Promise<IssuedTokens | undefined> {
      if (grant?.status !== "active") return undefined;
      if (!await database.mayRepeat(used)) return undefined;
      if (!isFound(used) || used.value.sealed === undefined) return undefined;
      const tokens: IssuedTokens = JSON.parse(
        await unseal(responseKey(code), used.value.sealed, grantId),
      );
      if (tokens.expiresAt <= database.now()) return undefined;
      // Writes the record again, with the mark of a commit that is not answered
      // with 503: from now on the code is used.
      return await database.replace(used, used.value) && tokens;
    },

    /**
     * Redeems a code for tokens of its grant. Returns undefined if another
     * request redeemed it first.
     * @throws {import("../errors.ts").OAuthError} `invalid_grant` if the person
     * or the client is blocked
     * @param grant the new state of the grant
     * @param read the records of the code, as they were checked
     */
    async use(
      code: string,
      { grant, scopes, record, upstream, read }: {
        grant: Grant;
        scopes: readonly string[];
        record: CodeRecord;
        upstream: UpstreamRecord;
        read: FoundCode;
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
        sealed: await seal(responseKey(code), JSON.stringify(tokens), grantId),
        expiresAt: time + USED_CODE_TTL_SECONDS,
      };
      const won = await database.commit((transaction) =>
        write(transaction)
          .check(read.code, read.grant, read.upstream)
          .set(read.code.key, used)
          // Kept as long as the grant may live, so that refreshes need not
          // write it.
          .set(read.upstream.key, { ...upstream, expiresAt: endsAt })
      );
      if (won) return tokens;
      await checkBlocks(database, grant, "invalid_grant");
    },
  };
}
