/**
 * The form by which a person cancels a task of theirs.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { redirect } from "../../http/redirect.ts";
import type { Logger } from "../../log/log.ts";
import type { Changed } from "../../pages/account_page.tsx";
import type { TaskStore } from "../../store/tasks.ts";
import { ownWork, type OwnWorkSources } from "./own_work.ts";
import type { AccountPlaces } from "./places.ts";
import type { SignedInPeople } from "./signed_in.ts";
import { notThere } from "./work_part.ts";

/** Makes the endpoint of that form. */
export function workCancellation(
  options: OwnWorkSources & {
    /** Leads back to where the form was. */
    places: AccountPlaces;
    signedIn: SignedInPeople;
    tasks: Pick<TaskStore, "end">;
    log: Logger;
  },
): (c: Context) => Promise<Response> {
  const { places, signedIn, tasks, log } = options;
  const own = ownWork(options);

  return async (c) => {
    const { session, form } = await signedIn.findForm(c);
    const task = await own.find(session, form.require("task"));
    if (task === undefined) throw notThere();
    const { taskId, tool } = task;
    // The process that works on it notices soon.
    const isEnded = await tasks.end(taskId, { status: "cancelled" });
    if (isEnded) {
      log.audit("Task cancelled on the account page", {
        reference: c.get("reference"),
        subject: session.subject,
        task: taskId,
        tool,
      });
    }
    const changed: Changed = isEnded ? "cancelled" : "over";
    return redirect(c, places.addressOf(form.get("back"), { changed }));
  };
}
