/**
 * The end of a grant at someone's request.
 *
 * @module
 */
import { bindingOf, type Grant } from "../rules/grant.ts";
import type { Entry } from "../../store/database.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { SessionStore } from "../../store/sessions.ts";
import type { TaskStore } from "../../store/tasks.ts";

/**
 * Ends a grant with the sessions and tasks that it used last.
 *
 * @param read the grant if it was just read
 */
export type EndGrant = (grant: Grant, read?: Entry<Grant>) => Promise<void>;

/** Makes the function that ends a grant with everything that belongs to it. */
export function grantEnd(
  { grants, sessions, tasks }: {
    grants: Pick<GrantStore, "close">;
    sessions: Pick<SessionStore, "endAllOf">;
    tasks: Pick<TaskStore, "endAllOf">;
  },
): EndGrant {
  return async function endGrant(grant, read) {
    const binding = bindingOf(grant);
    const [endSessions, endTasks] = await Promise.all([
      sessions.endAllOf(binding, grant.id),
      tasks.endAllOf(binding, grant.id),
    ]);
    // Sessions end in the same commit: a second try after a failure would find
    // the grant closed and not its sessions. Tasks end by themselves.
    await grants.close(grant.id, { read, also: endSessions.write });
    endSessions.tell();
    endTasks();
  };
}
