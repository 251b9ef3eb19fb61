/**
 * The basis of a wait: the grant of the call that waits, or the run of the
 * task. A wait is opened while its basis is there, and ends with it.
 *
 * @module
 */
import type { Grant } from "../auth/rules/grant.ts";
import { ChallengeError, HttpError } from "../errors.ts";
import type { Database, Expiring, Found } from "./database.ts";
import { grantKey, taskRunKey } from "./keys.ts";
import { userOfRun } from "./run_record.ts";
import type { Waiting } from "./wait_record.ts";

type Basis = Pick<Waiting, "grantId" | "taskId">;

/** True unless the task of a wait, or the grant of its call, has ended. */
export async function isLive(
  database: Database,
  { grantId, taskId }: Basis,
): Promise<boolean> {
  // It may go on with another grant of the same person.
  if (taskId !== undefined) {
    return await database.find(taskRunKey(taskId)) !== undefined;
  }
  return grantId === undefined ||
    await findGrant(database, grantId) !== undefined;
}

/**
 * Finds the basis of a new wait, for a commit that rests on it.
 *
 * @throws {ChallengeError} when the grant has ended
 * @throws {HttpError} 409 when the task has ended
 */
export async function basisOf(
  database: Database,
  { grantId, taskId }: Basis,
): Promise<{ grant?: Found<Grant>; run?: Found<Expiring> }> {
  let grant: Found<Grant> | undefined;
  if (grantId !== undefined) {
    grant = await findGrant(database, grantId);
    if (!grant && taskId !== undefined) {
      // One that uses its task by now.
      grant = await findGrant(database, await userOfRun(database, taskId));
    }
    if (!grant) {
      throw new ChallengeError("The connection has ended", "invalid_token");
    }
  }
  if (taskId === undefined) return { grant };
  const run = await database.find<Expiring>(taskRunKey(taskId));
  if (run) return { grant, run };
  throw new HttpError(409, "The task has ended");
}

async function findGrant(
  database: Database,
  id: string | undefined,
): Promise<Found<Grant> | undefined> {
  const grant = id && await database.find<Grant>(grantKey(id));
  return grant && grant.value.status === "active" ? grant : undefined;
}
