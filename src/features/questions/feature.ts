/**
 * Questions: pages of this server on which people answer, and waits.
 *
 * - A *wait* is a record for one answer: of a person on a page, or of a
 *   webhook. The answer is used once.
 * - The *asker* of a wait is the call or task that waits. A repeat of the call
 *   finds the same wait.
 *
 * @module
 */
import type { OnAccountPage } from "../account_page/feature.ts";
import { waitPagesOf } from "./page_questions.ts";
import { waitsOf } from "./waits.ts";

export const questionsFeature: OnAccountPage = {
  name: "questions",
  accountPage: () => import("./on_account_page.ts"),
  open(server) {
    const waits = waitsOf(server);
    return {
      waitPages: (site) => waitPagesOf({ waits, ...site }),
      answerWebhook: waits.answerWebhook,
      records: async () =>
        (await import("./wait_records.ts")).waitRecords(waits),
    };
  },
};
