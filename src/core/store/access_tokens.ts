/**
 * Access tokens, each read together with its grant.
 *
 * @module
 */
import type { Grant } from "../oauth/grant.ts";
import {
  isFromLastRefresh,
  isLastRefreshUnused,
  type IssuedTokens,
  limitReplays,
  noteRevoked,
  unwrapDataKey,
} from "../oauth/refresh_token.ts";
import {
  type BlockHead,
  checkBlocks,
  knownBlocks,
  unlessBlocked,
} from "./blocks.ts";
import {
  type Database,
  type Entry,
  type Found,
  isFound,
  type Transaction,
  type Write,
} from "../kv/database.ts";
import {
  type CredentialKind,
  mintCredential,
  mintPersonalToken,
  parseCredential,
} from "../oauth/credential.ts";
import { type AccessTokenRecord, grantStore, setGrant } from "./grants.ts";
import {
  accessTokenKey,
  blockHeadKey,
  grantKey,
  tokensOfKey,
} from "../kv/keys.ts";

const ACCESS_KINDS: readonly CredentialKind[] = [
  "access_token",
  "personal_token",
];

/**
 * The lifetime of the record that changes with every personal token. Longer
 * than any of these tokens lives.
 */
export const TOKENS_SECONDS = 366 * 24 * 60 * 60;

/** The error code for a blocked person or client, by the kind of the grant. */
const BLOCKED_CODES = {
  client: "unauthorized_client",
  assertion: "invalid_grant",
  token: "access_denied",
} as const;

interface LiveAccessToken {
  grant: Grant;
  /** The grant as it was read, so that a later commit can check it. */
  read: Found<Grant>;
  scopes: readonly string[];
  issuedAt?: number;
  /** The epoch second at which the token expires. */
  expiresAt: number;
  /** Decrypts the key of the grant's provider tokens; absent without tokens. */
  dataKey?(): Promise<Uint8Array>;
}

export type AccessTokenStore = ReturnType<typeof accessTokenStore>;

export function accessTokenStore(database: Database) {
  const grants = grantStore(database);
  const isBlocked = knownBlocks(database);

  /**
   * Adds a grant with its token. The commit fails if the person or the client
   * is blocked.
   */
  function create(
    transaction: Transaction,
    grant: Grant,
    accessToken: string,
  ): void {
    setGrant(unlessBlocked(transaction, grant), grant)
      .create(accessTokenKey(accessToken), { expiresAt: grant.expiresAt });
  }

  /**
   * Records that the client has used the response of a refresh, which is then
   * repeated for only `REPLAY_SECONDS` more.
   */
  function noteSeen(exchanged: string, read: Entry<Grant>): Promise<void> {
    return database.change(
      read.key,
      (transaction, { value: grant }: Entry<Grant>) => {
        if (
          grant?.status !== "active" || !isLastRefreshUnused(exchanged, grant)
        ) return;
        setGrant(transaction, limitReplays(grant, database.now()));
      },
      read,
    );
  }

  return {
    /** Finds an active grant whose person and client are not blocked. */
    async findGrant(grantId: string): Promise<Grant | undefined> {
      const [{ value: grant }, head] = await database.getMany<
        [Grant, BlockHead]
      >([grantKey(grantId), blockHeadKey()]);
      if (grant?.status !== "active") return undefined;
      return await isBlocked(head, grant) ? undefined : grant;
    },

    /**
     * Finds an access token that is not expired, of a grant that is active and
     * not blocked.
     */
    async find(accessToken: string): Promise<LiveAccessToken | undefined> {
      const credential = parseCredential(accessToken);
      if (!credential || !ACCESS_KINDS.includes(credential.kind)) {
        return undefined;
      }
      const [{ value: record }, read, head] = await database
        .getMany<[AccessTokenRecord, Grant, BlockHead]>([
          accessTokenKey(accessToken),
          grantKey(credential.grantId),
          blockHeadKey(),
        ]);
      if (!record || !isFound(read)) return undefined;
      const { value: grant } = read;
      if (grant.status !== "active") return undefined;
      if (await isBlocked(head, grant)) return undefined;
      const { wrappedKey, exchanged } = record;
      if (isLastRefreshUnused(exchanged, grant)) {
        database.background(() => noteSeen(exchanged!, read));
      }
      return {
        grant,
        read,
        scopes: record.scopes ?? grant.scopes,
        issuedAt: record.issuedAt,
        expiresAt: record.expiresAt,
        dataKey: wrappedKey === undefined
          ? undefined
          : () => unwrapDataKey(wrappedKey, grant.id, accessToken),
      };
    },

    /**
     * Issues the only access token of a grant without provider tokens. Returns
     * undefined if a check of `extraWrites` fails.
     * @param extraWrites writes and checks of the same commit
     * @throws {import("../errors.ts").OAuthError} if the person or the client
     * is blocked
     */
    async issue(
      grant: Grant,
      extraWrites: Write = () => {},
    ): Promise<IssuedTokens | undefined> {
      const { id, scopes, expiresAt, kind = "token" } = grant;
      const accessToken = mintCredential("access_token", id);
      const isSaved = await database.commit((transaction) => {
        create(transaction, grant, accessToken);
        extraWrites(transaction);
      });
      if (isSaved) return { accessToken, scopes, expiresAt };
      await checkBlocks(database, grant, BLOCKED_CODES[kind]);
    },

    /**
     * Issues a personal token, the only token of its grant. Returns undefined
     * if the person has `most` tokens already, even if several are made at
     * once.
     * @param options `keep` makes the write that stores the token for the page
     * that shows it; called again if another commit came first
     * @throws {import("../errors.ts").OAuthError} if the person is blocked
     */
    issuePersonal(
      grant: Grant,
      { most = Infinity, keep }: {
        most?: number;
        keep?: (personalToken: string) => Promise<Write>;
      } = {},
    ): Promise<string | undefined> {
      const personalToken = mintPersonalToken(grant.id);
      // Every new token changes this record, so that two made at once cannot
      // both pass the limit.
      const made = tokensOfKey(grant.subject);
      return database.change(made, async (transaction, _, before) => {
        const held = await grants.listOfSubject(grant.subject);
        const count = held.filter(({ kind }) => kind === "token").length;
        if (count >= most) return undefined;
        if (before) await checkBlocks(database, grant, BLOCKED_CODES.token);
        create(transaction, grant, personalToken);
        (await keep?.(personalToken))?.(transaction);
        const expiresAt = database.now() + TOKENS_SECONDS;
        transaction.set(made, { expiresAt });
        return personalToken;
      });
    },

    /**
     * Deletes the record that changes with every personal token of a person.
     */
    async forget(subject: string): Promise<void> {
      await database.commit((transaction) =>
        transaction.delete(tokensOfKey(subject))
      );
    },

    /** Revokes an access token; its grant stays active. */
    revoke(accessToken: string, read: Entry<Grant>): Promise<void> {
      return database.change(
        read.key,
        (transaction, { value: grant }: Entry<Grant>) => {
          transaction.expire(accessTokenKey(accessToken));
          // The response to a replayed refresh token must not have the revoked
          // token.
          if (
            grant?.status === "active" && isFromLastRefresh(accessToken, grant)
          ) {
            setGrant(transaction, noteRevoked(grant));
          }
        },
        read,
      );
    },
  };
}
