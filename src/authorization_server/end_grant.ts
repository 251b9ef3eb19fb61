/**
 * The end of a grant that someone wants to end.
 *
 * @module
 */
import { bindingOf, type Grant } from "../oauth/grant.ts";
import type { GrantStore } from "../store/grants.ts";
import type { SessionStore } from "../store/sessions.ts";
import type { TaskStore } from "../store/tasks.ts";

/** Ends a grant with the sessions and tasks that it used last. */
export type EndGrant = (grant: Grant) => Promise<void>;

/** What a grant ends with. */
export function grantEnd(
  { grants, sessions, tasks }: {
    grants: Pick<GrantStore, "close">;
    sessions: Pick<SessionStore, "endAllOf">;
    tasks: Pick<TaskStore, "endAllOf">;
  },
): EndGrant {
  return async function endGrant(grant) {
    const binding = bindingOf(grant);
    await sessions.endAllOf(binding, grant.id);
    await tasks.endAllOf(binding, grant.id);
    // Last: who asks again after a failure finds nothing by a closed grant.
    await grants.close(grant.id);
  };
}
