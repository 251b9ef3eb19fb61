/**
 * The end of a grant that someone wants to end.
 *
 * @module
 */
import { bindingOf, type Grant } from "../oauth/grant.ts";
import type { Entry } from "../store/database.ts";
import type { GrantStore } from "../store/grants.ts";
import type { SessionStore } from "../store/sessions.ts";
import type { TaskStore } from "../store/tasks.ts";

/**
 * Ends a grant with the sessions and tasks that it used last.
 *
 * @param read the grant as it was read a moment ago
 */
export type EndGrant = (grant: Grant, read?: Entry<Grant>) => Promise<void>;

/** What a grant ends with. */
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
    // Who asks again after a failure finds nothing by a closed grant, so its
    // sessions end with it. Its tasks would end by themselves.
    await grants.close(grant.id, { read, also: endSessions.write });
    endSessions.tell();
    endTasks();
  };
}
