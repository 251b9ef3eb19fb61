/**
 * The permission of a task: that of the grant it began with, or of another one
 * of the same person that uses it now.
 *
 * @module
 */
import type { Authenticated, Caller } from "../../caller.ts";
import type { TaskStore } from "../../store/tasks.ts";

/** True as long as a grant of its person holds for a task. */
export async function isTaskAllowed(
  tasks: Pick<TaskStore, "userOf">,
  taskId: string,
  { caller, authenticated }: { caller: Caller; authenticated: Authenticated },
): Promise<boolean> {
  // Not the session of a 2025 client, which its task outlives.
  if (await authenticated.isLive?.() ?? true) return true;
  const grantId = await tasks.userOf(taskId, caller.binding);
  return grantId !== undefined &&
    await authenticated.isLive?.(grantId) === true;
}
