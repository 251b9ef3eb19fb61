/**
 * The part of the account page with a person's open questions, and the pages on
 * which they are answered.
 *
 * @module
 */
import { DURABLE_SECONDS } from "../../authoring/durable.ts";
import { printDuration } from "../../core/pages/times.tsx";
import { WAIT_SECONDS } from "./waits.ts";
import type { AccountPageAddition } from "../account_page/account_pages.ts";
import { waitEndpoints, waitsInWords } from "./wait_pages.ts";

const addition: AccountPageAddition = {
  routes(app, services, rated) {
    const wait = waitEndpoints(services);
    app.get("/wait/:id", rated, wait.show);
    app.post("/wait/:id", rated, wait.answer);
  },
  waiting: ({ subject }, services) => waitsInWords(subject, services),
  kept: [
    {
      what:
        "Questions on pages of this server and approvals of calls, sealed, " +
        "with your answers",
      keys: ["wait", "wait-of", "wait-of-asker"],
      until: () =>
        printDuration(WAIT_SECONDS) +
        ", or as long as a tool waits, for a day " +
        "once an approved call has begun, " +
        `${printDuration(DURABLE_SECONDS)} at most`,
      member: "waits",
    },
  ],
};

export default addition;
