/**
 * The part of the account page with a person's tasks and the tasks' questions.
 *
 * @module
 */
import { DURABLE_SECONDS, MAX_KEEP_SECONDS } from "../../authoring/durable.ts";
import { printDuration } from "../../core/pages/times.tsx";
import { TASK_SECONDS } from "./task_record.ts";
import type { AccountPageAddition } from "../account_page/account_pages.ts";
import { workCancellation, workPart } from "./own_work.ts";
import { askedInWords, ownTasks, taskAnswer } from "./own_tasks.ts";

const addition: AccountPageAddition = {
  parts: (services) => [workPart(services)],
  routes(app, services, rated) {
    app.post("/account/work/cancel", rated, workCancellation(services));
    app.post("/account/work/answer", rated, taskAnswer(services));
  },
  waiting: askedInWords,
  resumed: (session, services, afterSeconds) =>
    ownTasks(services).wake(
      session,
      (run) => run.pausedSince !== undefined,
      afterSeconds,
    ),
  kept: [
    {
      what:
        "Tasks: questions, answers and the result; of long work also its input and its steps",
      keys: [
        "task",
        "task-of",
        "task-answer",
        "repeat",
        "task-run",
        "task-step",
        "wake",
        "text",
      ],
      until: () =>
        printDuration(TASK_SECONDS) +
        " after their end; long work until it ends, " +
        `${printDuration(DURABLE_SECONDS)} at most, and then as long as its ` +
        `tool keeps it, ${printDuration(MAX_KEEP_SECONDS)} at most`,
      member: "tasks",
    },
  ],
};

export default addition;
