/**
 * Grants: permissions of people for clients; the issuance of their tokens, and
 * the exchange of refresh tokens (rotation). A grant that ends stays as a
 * tombstone, so that nothing of it can be restored. The commit that ends it
 * deletes its provider tokens.
 *
 * @module
 */
import { shortClientId } from "../oauth/client.ts";
import { isAddressEntry, isBlocked } from "../oauth/allowed_users.ts";
import type { ListEntry } from "../oauth/list_entry.ts";
import {
  closeGrant,
  extendGrant,
  type Grant,
  ledgerIdOf,
} from "../oauth/grant.ts";
import type {
  Database,
  Entry,
  Expiring,
  Found,
  Transaction,
  Write,
} from "../kv/database.ts";
import {
  accessTokenKey,
  blockHeadKey,
  grantKey,
  grantsOfSubjectKey,
  ledgerKey,
  upstreamKey,
} from "../kv/keys.ts";
import { OwnerList } from "../kv/owner_list.ts";
import { listPerson, unlistPerson } from "./listed_people.ts";
import {
  mintCredential,
  mintRefreshToken,
  parseCredential,
} from "../oauth/credential.ts";
import type { Lifetimes } from "../oauth/lifetimes.ts";
import {
  type BlockHead,
  checkBlocks,
  knownBlocks,
  unlessBlocked,
} from "./blocks.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";
import { fingerprint } from "../crypto/crypto.ts";
import {
  type IssuedTokens,
  makeExchange,
  wrapDataKey,
} from "../oauth/refresh_token.ts";

/**
 * Adds a grant and its list entries to a commit. No other function writes them.
 */
export function setGrant(transaction: Transaction, grant: Grant): Transaction {
  const { id, subject, expiresAt } = grant;
  return transaction
    .set(grantKey(id), listPerson(transaction, grant))
    .set(grantsOfSubjectKey(subject, id), { expiresAt });
}

/** True for a grant that is active, or whose code is not redeemed yet. */
function isOpen({ value }: Found<Grant>): boolean {
  return value.status !== "closed";
}

/** The precision of a grant's last use. */
const TOUCH_SECONDS = 60;

export type GrantStore = ReturnType<typeof grantStore>;

/** @param blocked `OAUTH_BLOCKED` */
export function grantStore(
  database: Database,
  blocked: readonly ListEntry[] = [],
) {
  const lists = new OwnerList<Grant>(
    database,
    (subject) => grantsOfSubjectKey(subject),
    (entry) => grantKey(entry.at(-1) as string),
  );
  const blocksAddresses = blocked.some(isAddressEntry);

  /** Yields the grants of a subject, in any state, some at a time. */
  async function* entriesOf(subject: string): AsyncGenerator<Found<Grant>[]> {
    for await (const found of lists.records(subject)) {
      yield found.filter(({ value }) => value.subject === subject);
    }
  }

  /** Yields the open grants of everyone, some at a time. */
  async function* openGrants(): AsyncGenerator<Found<Grant>[]> {
    for await (const found of database.listInParts<Grant>(grantKey())) {
      yield found.filter(isOpen);
    }
  }

  async function hasLive(subject: string): Promise<boolean> {
    for await (const entries of entriesOf(subject)) {
      if (entries.some(({ value }) => value.status === "active")) return true;
    }
    return false;
  }

  /**
   * Ends a grant: all its credentials are refused from now on. Returns the
   * grant as it was before; undefined if it had ended already.
   * @param read the grant if it was just read
   * @param extraWrites writes of the same commit, for records that end with the
   * grant
   */
  function close(
    grantId: string,
    { read, extraWrites }: { read?: Entry<Grant>; extraWrites?: Write } = {},
  ): Promise<Grant | undefined> {
    return database.change(
      grantKey(grantId),
      (transaction, { value: grant }) => {
        extraWrites?.(transaction);
        if (!grant || grant.status === "closed") return undefined;
        setGrant(transaction, closeGrant(grant, database.now(), blocked))
          .delete(upstreamKey(grantId));
        if (grant.kind !== "client") {
          transaction.delete(ledgerKey(ledgerIdOf(grant)));
        }
        return grant;
      },
      read,
    );
  }

  /**
   * Removes the people of ended grants from the lists, unless they have other
   * grants.
   */
  async function unlist(
    ended: readonly Pick<Grant, "subject" | "kind">[],
  ): Promise<void> {
    const people = ended.filter(({ kind }) => kind !== "client");
    for (const subject of new Set(people.map((it) => it.subject))) {
      await unlistPerson(database, subject, hasLive);
    }
  }

  return {
    find: (grantId: string): Promise<Found<Grant> | undefined> =>
      database.find<Grant>(grantKey(grantId)),

    close,
    unlist,

    async revoke(grantId: string, read?: Entry<Grant>): Promise<void> {
      const ended = await close(grantId, { read });
      if (ended) database.background(() => unlist([ended]));
    },

    /**
     * Changes an open grant, and returns the changed grant; undefined if it has
     * ended.
     *
     * @param found the grant as it was just read
     */
    async change(
      found: Entry<Grant> | undefined,
      update: (grant: Grant) => Grant,
    ): Promise<Grant | undefined> {
      return found && await database.change(
        found.key,
        (transaction, { value }) => {
          if (!value || value.status === "closed") return undefined;
          const changed = update(value);
          setGrant(transaction, changed);
          return changed;
        },
        found,
      );
    },

    /**
     * Records a use of a grant in the background: the first at once, later ones
     * at most once a minute.
     */
    touch(grantId: string): void {
      database.background(async () => {
        const found = await database.find<Grant>(grantKey(grantId));
        if (found?.value.status !== "active") return;
        const { createdAt, usedAt: before } = found.value;
        const usedAt = Math.max(database.now(), createdAt + 1);
        if (before > createdAt && usedAt - before < TOUCH_SECONDS) return;
        await database.commit((transaction) =>
          setGrant(transaction.check(found), { ...found.value, usedAt })
        );
      });
    },

    /**
     * Lists the active grants of a person, newest first.
     *
     * @param most the maximum number of grants; all by default
     */
    async listOfSubject(subject: string, most = Infinity): Promise<Grant[]> {
      const grants: Grant[] = [];
      for await (const entries of entriesOf(subject)) {
        for (const { value } of entries) {
          if (value.status === "active") grants.push(value);
        }
        if (grants.length >= most) break;
      }
      return grants.sort((a, b) => b.createdAt - a.createdAt).slice(0, most);
    },

    async listOpen(subject: string): Promise<Found<Grant>[]> {
      return (await Array.fromAsync(entriesOf(subject))).flat().filter(isOpen);
    },

    /** Yields all stored grants of a person, some at a time. */
    async *kept(subject: string): AsyncGenerator<Grant[]> {
      for await (const entries of entriesOf(subject)) {
        yield entries.map(({ value }) => value);
      }
    },

    /**
     * True if `OAUTH_BLOCKED` names an e-mail address in one of the person's
     * grants. Used for tokens that contain no address.
     */
    async isKnownBlocked(subject: string): Promise<boolean> {
      if (!blocksAddresses) return false;
      for await (const entries of entriesOf(subject)) {
        if (entries.some(({ value }) => isBlocked(value, blocked))) return true;
      }
      return false;
    },

    /** Removes the person from the tombstones of their grants. */
    async forget(subject: string): Promise<void> {
      for await (const entries of entriesOf(subject)) {
        for (const entry of entries.filter((it) => !isOpen(it))) {
          const { key, value } = entry;
          const nameless = { ...value, subject: "", identity: { subject: "" } };
          await database.commit((transaction) =>
            transaction.check(entry).set<Grant>(key, nameless).delete(
              grantsOfSubjectKey(subject, value.id),
              ledgerKey(ledgerIdOf(value)),
            )
          );
        }
      }
    },

    open: openGrants,

    /** Yields the open grants of a client, some at a time. */
    async *openOfClient(shortId: string): AsyncGenerator<Found<Grant>[]> {
      for await (const open of openGrants()) {
        const own = open.filter(({ value: { clientId } }) =>
          clientId !== "" && shortClientId(clientId) === shortId
        );
        if (own.length > 0) yield own;
      }
    },
  };
}

export interface AccessTokenRecord extends Expiring {
  /**
   * The grant's data key, encrypted with the access token; absent without a
   * provider.
   */
  wrappedKey?: string;
  /** The scopes of the token, if they are fewer than those of its grant. */
  scopes?: readonly string[];
  /**
   * The time of the token response; absent if the grant has only this token.
   */
  issuedAt?: number;
  /**
   * The fingerprint of the refresh token that was exchanged for this token, if
   * any.
   */
  exchanged?: string;
}

/** New tokens; they are valid once `write` is committed. */
export interface Issuance {
  tokens: IssuedTokens;
  write(transaction: Transaction): Transaction;
}

/**
 * Makes an access token, and a refresh token if the grant can be refreshed.
 * @param grant the grant with its new lifetime
 * @param options `exchanged`: the refresh token that is exchanged; if it was
 * exchanged before, its `successor` is the refresh token that the client got
 * then, and gets again
 */
export async function issueTokens(
  grant: Grant,
  { dataKey, scopes, now, lifetimes, exchanged }: {
    lifetimes: Pick<Lifetimes, "accessTokenSeconds">;
    dataKey: Uint8Array;
    scopes: readonly string[];
    now: number;
    exchanged?: { refreshToken: string; successor?: string };
  },
): Promise<Issuance> {
  const { id, refreshKey } = grant;
  const accessToken = mintCredential("access_token", id);
  const refreshToken = exchanged?.successor ??
    (refreshKey && mintRefreshToken(id, refreshKey));
  const expiresAt = Math.min(
    now + lifetimes.accessTokenSeconds,
    grant.expiresAt,
  );
  const tokens: IssuedTokens = { accessToken, refreshToken, scopes, expiresAt };
  const [wrappedKey, wrappedForRefresh, exchange] = await Promise.all([
    wrapDataKey(dataKey, id, accessToken),
    refreshToken && wrapDataKey(dataKey, id, refreshToken),
    refreshToken && exchanged &&
    makeExchange(exchanged.refreshToken, tokens, id),
  ]);
  const access: AccessTokenRecord = {
    wrappedKey,
    issuedAt: now,
    expiresAt,
    ...scopes !== grant.scopes && { scopes },
    ...exchanged && { exchanged: fingerprint(exchanged.refreshToken) },
  };
  const issued: Grant = {
    ...grant,
    ...refreshToken && wrappedForRefresh && {
      refreshTokens: {
        current: fingerprint(refreshToken),
        wrappedKey: wrappedForRefresh,
        ...exchange && { exchange },
      },
    },
  };
  return {
    tokens,
    write: (transaction) =>
      setGrant(unlessBlocked(transaction, grant), issued)
        .create(accessTokenKey(accessToken), access),
  };
}

export interface FoundRefreshToken {
  grant: Entry<Grant>;
  upstream: Entry<UpstreamRecord>;
  isBlocked: boolean;
}

export function refreshTokenStore(database: Database, lifetimes: Lifetimes) {
  const isBlocked = knownBlocks(database);

  return {
    /** Reads the records of a refresh token; undefined for any other text. */
    async read(refreshToken: string): Promise<FoundRefreshToken | undefined> {
      const credential = parseCredential(refreshToken);
      if (credential?.kind !== "refresh_token") return undefined;
      const { grantId } = credential;
      const [grant, upstream, head] = await database.getMany<
        [Grant, UpstreamRecord, BlockHead]
      >([grantKey(grantId), upstreamKey(grantId), blockHeadKey()]);
      return {
        grant,
        upstream,
        isBlocked: !!grant.value && await isBlocked(head, grant.value),
      };
    },

    /**
     * Makes the tokens for which a refresh token is exchanged. They are valid
     * once `write` is committed; that fails if the grant has changed since it
     * was read.
     * @param read the grant as it was read, which the commit checks
     * @param options `grant`: the new state of the grant; `successor`: the
     * current refresh token, if `refreshToken` was exchanged for it before
     * and its client gets it again
     */
    async exchange(
      refreshToken: string,
      { grant: read }: FoundRefreshToken,
      { grant, dataKey, scopes, successor }: {
        grant: Grant;
        dataKey: Uint8Array;
        scopes: readonly string[];
        successor?: string;
      },
    ): Promise<Issuance> {
      const now = database.now();
      const used = extendGrant(grant, { refreshable: true, now, lifetimes });
      const { tokens, write } = await issueTokens(used, {
        dataKey,
        scopes,
        now,
        lifetimes,
        exchanged: { refreshToken, successor },
      });
      return { tokens, write: (transaction) => write(transaction.check(read)) };
    },

    /**
     * Commits an exchange. Returns false if another request changed the grant
     * first.
     *
     * @throws {import("../errors.ts").OAuthError} `invalid_grant` if the person
     * or the client is blocked
     */
    async commit({ write }: Issuance, grant: Grant): Promise<boolean> {
      if (await database.commit(write)) return true;
      await checkBlocks(database, grant, "invalid_grant");
      return false;
    },
  };
}
