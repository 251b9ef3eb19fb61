/**
 * Durable work that waits before it asks, because its person has too many open
 * questions.
 * @module
 */
import { LimitError } from "../../errors.ts";
import type { WorkParking } from "./work.ts";

const NO_ROOM = "The tool waits until other questions to you are answered";

/**
 * Opens a question. If too many are open, the durable work waits and tries
 * again.
 */
export async function askInTurn<T>(
  parking: WorkParking,
  open: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await parking.activity(open);
    } catch (error) {
      if (!(error instanceof LimitError)) throw error;
    }
    const until = parking.now() + parking.againSeconds;
    await parking.waitUntil(until, { waitsFor: NO_ROOM });
  }
}
