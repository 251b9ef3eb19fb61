/**
 * People who are signed in to the account page.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import { randomId } from "../crypto.ts";
import type { Database, Expiring } from "./database.ts";
import { accountSessionKey } from "./keys.ts";

/** How long a person stays signed in to the account page. */
export const ACCOUNT_SESSION_SECONDS = 60 * 60;

/** Who is signed in. */
export interface AccountSession extends Expiring {
  /** As in grants: `github:583231`. */
  subject: string;
  identity: Identity;
}

export type AccountSessionStore = ReturnType<typeof accountSessionStore>;

/** Account sessions in a database. The id is the value of a cookie. */
export function accountSessionStore(database: Database) {
  return {
    /** Keeps a new session and gives its id: 43 characters, unguessable. */
    async save(session: Omit<AccountSession, "expiresAt">): Promise<string> {
      const id = randomId();
      const expiresAt = database.now() + ACCOUNT_SESSION_SECONDS;
      await database.commit((transaction) =>
        transaction.set(accountSessionKey(id), { ...session, expiresAt })
      );
      return id;
    },

    async find(id: string): Promise<AccountSession | undefined> {
      return (await database.find<AccountSession>(accountSessionKey(id)))
        ?.value;
    },

    async end(id: string): Promise<void> {
      await database.commit((transaction) =>
        transaction.delete(accountSessionKey(id))
      );
    },
  };
}
