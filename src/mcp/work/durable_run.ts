/**
 * A run of durable work in this process: as long as it is claimed and allowed,
 * it goes on and keeps its steps. Otherwise its author's code is interrupted.
 *
 * @module
 */
import { persist } from "../../store/persist.ts";
import type { Claim } from "../../store/run_record.ts";
import type { Step } from "../../store/steps.ts";
import { Expelled, Parked } from "./interruption.ts";
import type { Parking } from "./parking.ts";

interface RunParts {
  claim: Claim;
  parking: Parking;
  signal: AbortSignal;
  /** Epoch seconds. */
  now(): number;
  /** Stores a step; false if this process has lost its claim. */
  store(step: Step): Promise<boolean>;
  /** True if its caller may still do this. */
  isAllowed(): Promise<boolean>;
  /** Ends the author's code with a reason, in the middle. */
  interrupt(reason: unknown): Promise<never>;
}

export type DurableRun = ReturnType<typeof durableRun>;

export function durableRun(parts: RunParts) {
  const { parking, signal, store, isAllowed, interrupt } = parts;
  return {
    ...parts,

    /** Lets work go on only in this process, and only if its caller still may. */
    async goOn(): Promise<void> {
      if (parking.isReleased) return await parking.never();
      const isMine = await parking.activity(() =>
        persist(isAllowed, { signal })
      );
      if (!isMine) await interrupt(new Expelled());
    },

    /** Keeps a step, for as long as the database is away. */
    async save(step: Step): Promise<void> {
      const isSaved = await parking.activity(() =>
        persist(() => store(step), { signal })
      );
      if (!isSaved) await interrupt(new Parked());
    },

    /** Tries to keep a step, once. */
    async note(step: Step): Promise<void> {
      await store(step).catch(() => {});
    },
  };
}
