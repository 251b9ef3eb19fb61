/**
 * The part of work on the account page: a person's tasks, and the questions of
 * these.
 *
 * @module
 */
import type { AccountAddition } from "../account_page/account_pages.ts";
import { workCancellation, workPart } from "./own_work.ts";
import { askedInWords, taskAnswer } from "./task_question_pages.ts";

const addition: AccountAddition = {
  parts: (services) => [workPart(services)],
  routes(app, services, rated) {
    app.post("/account/work/cancel", rated, workCancellation(services));
    app.post("/account/work/answer", rated, taskAnswer(services));
  },
  waiting: askedInWords,
};

export default addition;
