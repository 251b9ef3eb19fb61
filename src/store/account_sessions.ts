/**
 * People who are signed in to the account page.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import { randomId } from "../crypto.ts";
import { accountSessionKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find } from "./kv.ts";
import { now } from "../clock.ts";

/** How long a person stays signed in to the account page. */
export const ACCOUNT_SESSION_SECONDS = 60 * 60;

/** Who is signed in. */
export interface AccountSession extends Expiring {
  /** As in grants: `github:583231`. */
  subject: string;
  identity: Identity;
}

/** Account sessions in Deno KV. The id is the value of a cookie. */
export interface AccountSessionStore {
  /** Keeps a new session and gives its id: 43 characters, unguessable. */
  save(session: Omit<AccountSession, "expiresAt">): Promise<string>;
  find(id: string): Promise<AccountSession | undefined>;
  end(id: string): Promise<void>;
}

/** Account sessions in a database. */
export function accountSessionStore(kv: Deno.Kv): AccountSessionStore {
  return {
    async save(session) {
      const id = randomId();
      const record = {
        ...session,
        expiresAt: now() + ACCOUNT_SESSION_SECONDS,
      };
      await commit(
        kv,
        (operation) =>
          operation.set(accountSessionKey(id), record, expireIn(record)),
      );
      return id;
    },

    async find(id) {
      return (await find<AccountSession>(kv, accountSessionKey(id)))?.value;
    },

    async end(id) {
      await commit(kv, (operation) => operation.delete(accountSessionKey(id)));
    },
  };
}
