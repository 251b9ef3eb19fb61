/**
 * `GET /account/attempts`: why the last attempts to connect failed, for
 * operators.
 *
 * @module
 */
import { OperatorAttempts } from "../../pages/operator_attempts.tsx";
import type { AttemptStore } from "../../store/attempts.ts";
import type { AccountPart } from "./account_part.ts";

/** Makes the part. */
export function attemptsPart(
  { attempts }: { attempts: Pick<AttemptStore, "list"> },
): AccountPart {
  return {
    name: "attempts",
    label: "Attempts",
    title: "The last attempts to connect",
    isForOperators: true,
    show: async ({ now }) =>
      OperatorAttempts({ attempts: await attempts.list(), now }),
  };
}
