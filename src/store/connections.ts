/**
 * Connections: the sign-ins of one client by one person, and what holds for all
 * of them. Every sign-in and every change of a connection writes its record, so
 * that two at once see each other: a change writes it before it changes grants,
 * a sign-in rests on it.
 *
 * @module
 */
import { type ConnectionOf, isSignInOf } from "../oauth/connection.ts";
import { type Grant, pauseGrant, resumeGrant } from "../oauth/grant.ts";
import { unionOfScopes } from "../oauth/scope.ts";
import type { Database, Entry, Expiring, Found, Write } from "./database.ts";
import { type GrantStore, setGrant } from "./grants.ts";
import { connectionKey } from "./keys.ts";

/** Longer than any grant lives. */
export const CONNECTION_SECONDS = 366 * 24 * 60 * 60;

/** The records that one commit deletes; it takes a thousand mutations. */
const DELETIONS_PER_COMMIT = 500;

/** The state that holds for all sign-ins of a connection. */
export interface ConnectionState {
  /** The time at which it was paused; it counts while there is a sign-in. */
  pausedAt?: number;
  /** The scopes that the person has taken away and not given again. */
  revokedScopes?: readonly string[];
  /** The time at which they last took any away. */
  revokedScopesAt?: number;
}

type ConnectionRecord = ConnectionState & Expiring;

export interface Connection {
  state: ConnectionState;
  /** Its grants that are live, or wait for their code. */
  open: Found<Grant>[];
  entry: Entry<ConnectionRecord>;
}

export type ConnectionStore = ReturnType<typeof connectionStore>;

export function connectionStore(
  database: Database,
  grants: Pick<GrantStore, "listOpen">,
) {
  const keyOf = ({ subject, clientId }: ConnectionOf) =>
    connectionKey(subject, clientId);

  function writeOf(
    entry: Entry<ConnectionRecord>,
    { pausedAt, revokedScopes, revokedScopesAt }: ConnectionState,
  ): Write {
    const record: ConnectionRecord = {
      ...pausedAt !== undefined && { pausedAt },
      ...revokedScopes?.length && { revokedScopes, revokedScopesAt },
      expiresAt: database.now() + CONNECTION_SECONDS,
    };
    return (transaction) => transaction.check(entry).set(entry.key, record);
  }

  /** Changes what holds for a connection, and gives its new version. */
  async function change(
    of: ConnectionOf,
    update: (state: ConnectionState) => ConnectionState,
  ): Promise<Entry<ConnectionState>> {
    for (;;) {
      const entry = await database.get<ConnectionRecord>(keyOf(of));
      const value = update(entry.value ?? {});
      const versionstamp = await database.commit(writeOf(entry, value));
      if (versionstamp) return { key: entry.key, value, versionstamp };
    }
  }

  /** Lists the sign-ins that are live, or wait for their code. */
  async function signInsOf(of: ConnectionOf): Promise<Found<Grant>[]> {
    const open = await grants.listOpen(of.subject);
    return open.filter(({ value }) => isSignInOf(of, value));
  }

  return {
    signInsOf,

    /** Lists what is kept of the connections of a person. */
    async listOf(subject: string): Promise<ConnectionState[]> {
      const kept = await database.list<ConnectionRecord>(
        connectionKey(subject),
      );
      const open = (await grants.listOpen(subject)).map(({ value }) =>
        JSON.stringify(keyOf(value))
      );
      return kept.map(({ key, value: { expiresAt: _, pausedAt, ...state } }) =>
        // A pause has ended with the last sign-in.
        pausedAt !== undefined && open.includes(JSON.stringify(key))
          ? { pausedAt, ...state }
          : state
      ).filter((state) => Object.keys(state).length > 0);
    },

    /** Deletes what is kept of the connections of a person without any. */
    async forget(subject: string): Promise<void> {
      const kept = await database.list<ConnectionRecord>(
        connectionKey(subject),
      );
      while (kept.length > 0) {
        const some = kept.splice(-DELETIONS_PER_COMMIT);
        await database.commit((transaction) =>
          transaction.delete(...some.map(({ key }) => key))
        );
      }
    },

    /** Reads a connection: first its record, on which a sign-in rests. */
    async read(of: ConnectionOf): Promise<Connection> {
      const entry = await database.get<ConnectionRecord>(keyOf(of));
      return { state: entry.value ?? {}, open: await signInsOf(of), entry };
    },

    /**
     * Makes the write of a sign-in, for a commit that fails if anything else
     * changes the connection meanwhile.
     */
    join: ({ entry }: Connection, state: ConnectionState): Write =>
      writeOf(entry, state),

    /**
     * Pauses all sign-ins, those to come too; undefined: resumes them. Of two
     * changes at once the later one holds for every sign-in, whichever of them
     * is slower. Gives the sign-ins that are open.
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
          [holding, read] = await database.getMany<[ConnectionState, Grant]>(
            rests.map(({ key }) => key),
          );
        }
      }
      return open;
    },

    /** Takes scopes away from the sign-ins to come, too. */
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
