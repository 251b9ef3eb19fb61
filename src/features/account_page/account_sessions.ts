/**
 * Browser sessions of the account page.
 *
 * @module
 */
import { makeOncePerServer } from "../../core/store/opened_server.ts";
import type { KnownPerson } from "../../core/oauth/grant.ts";
import { randomId, seal, unseal } from "../../core/crypto/crypto.ts";
import {
  type BlockHead,
  checkBlocks,
  knownBlocks,
  unlessBlocked,
} from "../../core/store/blocks.ts";
import type {
  Database,
  Expiring,
  Transaction,
  Write,
} from "../../core/kv/database.ts";
import {
  accountSessionKey,
  accountSessionsOfKey,
  blockHeadKey,
  listedAccountSessionKey,
  madeTokenKey,
} from "../../core/kv/keys.ts";
import { OwnerList } from "../../core/kv/owner_list.ts";
import { deriveKey } from "../../core/oauth/refresh_token.ts";

export const ACCOUNT_SESSION_SECONDS = 60 * 60;

interface SignedInPerson extends KnownPerson {
  /** True if the provider was asked to authenticate the person again. */
  isFresh?: true;
}

export type AccountSession = Expiring & SignedInPerson;

/** The seconds for which a new personal access token can be shown. */
export const MADE_TOKEN_SECONDS = 5 * 60;

const keyOf = (id: string) => deriveKey(id, "made token");

export type AccountSessionStore = ReturnType<typeof accountSessionStore>;

/** Opens the store of account sessions, whose IDs are cookie values. */
export function accountSessionStore(database: Database) {
  const isBlocked = knownBlocks(database);
  const lists = new OwnerList<AccountSession>(
    database,
    accountSessionsOfKey,
    listedAccountSessionKey,
  );

  return {
    name: "accountSessions",

    /**
     * Stores a new session and returns its ID: 43 characters, unguessable.
     *
     * @throws {import("../../core/errors.ts").OAuthError} if the person is
     * blocked
     */
    async save(session: SignedInPerson): Promise<string> {
      const id = randomId();
      const expiresAt = database.now() + ACCOUNT_SESSION_SECONDS;
      const write = (transaction: Transaction) =>
        unlessBlocked(transaction, session)
          .create(accountSessionKey(id), { ...session, expiresAt })
          .set(accountSessionsOfKey(session.subject, id), { expiresAt });
      // The commit fails for a blocked person. If no block is found afterwards,
      // it was just lifted, and the commit is tried again.
      while (!await database.commit(write)) {
        await checkBlocks(database, session);
      }
      return id;
    },

    /** Finds a session. Undefined if its person is blocked. */
    async find(id: string): Promise<AccountSession | undefined> {
      const [{ value: session }, head] = await database.getMany<
        [AccountSession, BlockHead]
      >([accountSessionKey(id), blockHeadKey()]);
      if (!session) return undefined;
      const { subject } = session;
      return await isBlocked(head, { subject }) ? undefined : session;
    },

    /**
     * Makes a write whose commit fails if the session has ended. Undefined if
     * it has already ended.
     */
    async stays(id: string): Promise<Write | undefined> {
      const found = await database.find(accountSessionKey(id));
      return found && ((transaction) => transaction.check(found));
    },

    /**
     * Makes the write that stores a new personal access token, so that it can
     * be shown for five minutes.
     */
    async keepMade(id: string, grantId: string, token: string): Promise<Write> {
      // The token is encrypted with the session's cookie.
      const sealed = await seal(keyOf(id), token, grantId);
      const expiresAt = database.now() + MADE_TOKEN_SECONDS;
      return (transaction) =>
        transaction.create(madeTokenKey(id, grantId), { sealed, expiresAt });
    },

    /** Finds a new token. Undefined after five minutes. */
    async findMade(id: string, grantId: string): Promise<string | undefined> {
      const found = await database.find<{ sealed: string }>(
        madeTokenKey(id, grantId),
      );
      return found && await unseal(keyOf(id), found.value.sealed, grantId);
    },

    async close(id: string): Promise<void> {
      await database.commit((transaction) =>
        transaction.expire(accountSessionKey(id))
      );
    },

    /** Lists the expiry times of a person's sessions. */
    async listOf(subject: string): Promise<Expiring[]> {
      const listed = await lists.entries(subject);
      return listed.map(({ value: { expiresAt } }) => ({ expiresAt }));
    },

    /** Signs a person out of every browser. */
    async endAllOf(subject: string): Promise<void> {
      await lists.end(await lists.entries(subject));
    },
  };
}

export const accountSessionsOf = makeOncePerServer(({ database }) =>
  accountSessionStore(database)
);
