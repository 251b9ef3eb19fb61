/**
 * `GET /account/durable`: the durable work of everyone, for operators.
 *
 * @module
 */
import { OperatorWork } from "../../pages/operator_work.tsx";
import type { Database } from "../../store/database.ts";
import type { StepFailureStore } from "../../store/step_failures.ts";
import { workAhead } from "../../store/work_ahead.ts";
import type { AccountPart } from "./account_part.ts";

/** The most wakes that a page reads. */
const MOST_WAKES = 200;

/** Makes the part. */
export function durablePart(
  { database, stepFailures }: {
    database: Database;
    stepFailures: Pick<StepFailureStore, "list">;
  },
): AccountPart {
  return {
    name: "durable",
    label: "Durable work",
    title: "Everyone’s durable work",
    isForOperators: true,

    async show({ now }) {
      const [{ work, isCut }, failures] = await Promise.all([
        workAhead(database, MOST_WAKES),
        stepFailures.list(),
      ]);
      return OperatorWork({ work, isCut, wakes: MOST_WAKES, failures, now });
    },
  };
}
