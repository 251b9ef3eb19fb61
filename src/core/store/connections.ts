/**
 * Connections: the sign-ins of one person with one client, and the state that
 * they share. Every sign-in and every change writes the connection's record, so
 * that concurrent ones notice each other. A change writes the record before it
 * changes grants. The commit of a sign-in fails if the record has changed.
 * @module
 */
import { type ConnectionOf, isSignInOf } from "../oauth/connection.ts";
import { type Grant, pauseGrant, resumeGrant } from "../oauth/grant.ts";
import { unionOfScopes } from "../oauth/scope.ts";
import type {
  Database,
  Entry,
  Expiring,
  Found,
  Write,
} from "../kv/database.ts";
import { type GrantStore, setGrant } from "./grants.ts";
import { connectionKey } from "../kv/keys.ts";
import { inParts } from "../kv/owner_list.ts";

/**
 * The lifetime of a connection's record, which is longer than any grant lives.
 */
export const CONNECTION_SECONDS = 366 * 24 * 60 * 60;

/**
 * The maximum number of records that one commit deletes, of the 1,000 mutations
 * of a commit.
 */
const DELETIONS_PER_COMMIT = 500;

/** The state that all sign-ins of a connection share. */
export interface SharedSignInState {
  /**
   * The time of a pause. It has no effect once the connection has no sign-in.
   */
  pausedAt?: number;
  /** The scopes that the person has revoked and not granted again. */
  revokedScopes?: readonly string[];
  /** The time at which the person last revoked scopes. */
  revokedScopesAt?: number;
}

type ConnectionRecord = SharedSignInState & Expiring;

export interface Connection {
  state: SharedSignInState;
  /**
   * The connection's grants that are active, or whose code is not redeemed yet.
   */
  open: Found<Grant>[];
  entry: Entry<ConnectionRecord>;
}

export type ClientConnectionStore = ReturnType<typeof clientConnectionStore>;

export function clientConnectionStore(
  database: Database,
  grants: Pick<GrantStore, "listOpen">,
) {
  const keyOf = ({ subject, clientId }: ConnectionOf) =>
    connectionKey(subject, clientId);

  function writeOf(
    entry: Entry<ConnectionRecord>,
    { pausedAt, revokedScopes, revokedScopesAt }: SharedSignInState,
  ): Write {
    const record: ConnectionRecord = {
      ...pausedAt !== undefined && { pausedAt },
      ...revokedScopes?.length && { revokedScopes, revokedScopesAt },
      expiresAt: database.now() + CONNECTION_SECONDS,
    };
    return (transaction) => transaction.check(entry).set(entry.key, record);
  }

  /** Changes the state of a connection, and returns its new entry. */
  async function change(
    of: ConnectionOf,
    update: (state: SharedSignInState) => SharedSignInState,
  ): Promise<Entry<SharedSignInState>> {
    for (;;) {
      const entry = await database.get<ConnectionRecord>(keyOf(of));
      const value = update(entry.value ?? {});
      const versionstamp = await database.commit(writeOf(entry, value));
      if (versionstamp) return { key: entry.key, value, versionstamp };
    }
  }

  /** Lists the sign-ins that are active, or whose code is not redeemed yet. */
  async function signInsOf(of: ConnectionOf): Promise<Found<Grant>[]> {
    const open = await grants.listOpen(of.subject);
    return open.filter(({ value }) => isSignInOf(of, value));
  }

  return {
    signInsOf,

    /** Lists the stored states of a person's connections. */
    async listOf(subject: string): Promise<SharedSignInState[]> {
      const kept = await database.list<ConnectionRecord>(
        connectionKey(subject),
      );
      const open = (await grants.listOpen(subject)).map(({ value }) =>
        JSON.stringify(keyOf(value))
      );
      return kept.map(({ key, value: { expiresAt: _, pausedAt, ...state } }) =>
        // A pause ends with the last sign-in.
        pausedAt !== undefined && open.includes(JSON.stringify(key))
          ? { pausedAt, ...state }
          : state
      ).filter((state) => Object.keys(state).length > 0);
    },

    /** Deletes the records of a person's connections. */
    async forget(subject: string): Promise<void> {
      const kept = await database.list<ConnectionRecord>(
        connectionKey(subject),
      );
      for (const some of inParts(kept, DELETIONS_PER_COMMIT)) {
        await database.commit((transaction) =>
          transaction.delete(...some.map(({ key }) => key))
        );
      }
    },

    /**
     * Reads a connection: first its record, then its grants. The commit of a
     * sign-in checks that record, so it fails if the grants have changed since.
     */
    async read(of: ConnectionOf): Promise<Connection> {
      const entry = await database.get<ConnectionRecord>(keyOf(of));
      return { state: entry.value ?? {}, open: await signInsOf(of), entry };
    },

    /**
     * Makes the write of a sign-in. Its commit fails if the connection has
     * changed since it was read.
     */
    join: ({ entry }: Connection, state: SharedSignInState): Write =>
      writeOf(entry, state),

    /**
     * Pauses all sign-ins of a connection, also later ones. Resumes them if
     * `pausedAt` is undefined. If both happen at the same time, the later one
     * holds for every sign-in. Returns the open sign-ins.
     */
    async pause(
      of: ConnectionOf,
      pausedAt: number | undefined,
    ): Promise<Grant[]> {
      let holding = await change(of, (state) => ({ ...state, pausedAt }));
      const open: Grant[] = [];
      for (const signIn of await signInsOf(of)) {
        let read: Entry<Grant> = signIn;
        while (read.value && read.value.status !== "closed") {
          const { pausedAt: since } = holding.value ?? {};
          const grant = since === undefined
            ? resumeGrant(read.value)
            : pauseGrant(read.value, since);
          const rests = [holding, read];
          const isDone = await database.commit((transaction) =>
            setGrant(transaction.check(...rests), grant)
          );
          if (isDone) open.push(grant);
          if (isDone) break;
          [holding, read] = await database.getMany<[SharedSignInState, Grant]>(
            rests.map(({ key }) => key),
          );
        }
      }
      return open;
    },

    /** Revokes scopes of a connection for later sign-ins. */
    async revokeScopes(
      of: ConnectionOf,
      scopes: readonly string[],
    ): Promise<void> {
      await change(of, (state) => ({
        ...state,
        revokedScopes: unionOfScopes(state.revokedScopes ?? [], scopes),
        revokedScopesAt: database.now(),
      }));
    },
  };
}
