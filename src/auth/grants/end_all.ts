/**
 * The end of everything that a person, a machine or a client has.
 *
 * @module
 */
import type { AccountSessionStore } from "../../store/account_sessions.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { EndGrants } from "./end_grant.ts";

/** Rounds of looking for what is open. */
const MOST_ROUNDS = 5;

/**
 * Makes the functions that end everything of a subject (what is open, what a
 * code still opens, and who is signed in to the account page as them) or of a
 * client. Each gives the number of connections.
 */
export function endOfAll(
  { accountSessions, grants, endGrants }: {
    accountSessions: Pick<AccountSessionStore, "endAllOf">;
    grants: Pick<GrantStore, "listOpen" | "openOfClient">;
    endGrants: EndGrants;
  },
) {
  return {
    async ofSubject(subject: string): Promise<number> {
      let count = 0;
      // Again until there is none: a client may get another one meanwhile.
      for (let round = 0; round < MOST_ROUNDS; round++) {
        await accountSessions.endAllOf(subject);
        const open = await grants.listOpen(subject);
        if (open.length === 0) break;
        count += open.length;
        await endGrants(open.map((read) => ({ grant: read.value, read })));
      }
      return count;
    },

    /** Ends what people have allowed a client, by its short ID. */
    async ofClient(shortId: string): Promise<number> {
      let count = 0;
      for await (const open of grants.openOfClient(shortId)) {
        count += open.length;
        await endGrants(open.map((read) => ({ grant: read.value, read })));
      }
      return count;
    },
  };
}
