/**
 * A run of durable work in this process. It goes on and stores its steps as
 * long as this process has the claim and the caller is allowed. Otherwise the
 * author's code is interrupted.
 *
 * @module
 */
import { persist } from "../../core/kv/persist.ts";
import type { AuthorCode } from "../../core/mcp/exchange/author_code.ts";
import type { Claim } from "./run_record.ts";
import type { Step } from "./steps.ts";
import { Parked, type Parking } from "./parking.ts";

/** The interruption of a run whose caller may no longer call. */
export class Expelled extends Error {
  override name = "Expelled";
}

interface RunParts {
  claim: Claim;
  parking: Parking;
  signal: AbortSignal;
  /** Epoch seconds. */
  now(): number;
  /** Stores a step; false if this process has lost its claim. */
  store(step: Step): Promise<boolean>;
  /** True while the caller is allowed to do this work. */
  isAllowed(): Promise<boolean>;
  interrupt(reason: unknown): Promise<never>;
  /** The author's code, and the keys that it was given. */
  code(): Pick<AuthorCode, "given" | "clean">;
}

export type DurableRun = ReturnType<typeof durableRun>;

export function durableRun(parts: RunParts) {
  const { parking, signal, store, isAllowed, interrupt } = parts;
  return {
    ...parts,

    /**
     * Returns if the caller is still allowed; otherwise interrupts the run.
     * Never returns once the run is to leave its process.
     */
    async goOn(): Promise<void> {
      if (parking.isReleased) return await parking.never();
      const isMine = await parking.activity(() =>
        persist(isAllowed, { signal })
      );
      if (!isMine) await interrupt(new Expelled());
    },

    /** Stores a step. Tries again as long as the database is away. */
    async save(step: Step): Promise<void> {
      const isSaved = await parking.activity(() =>
        persist(() => store(step), { signal })
      );
      if (!isSaved) await interrupt(new Parked());
      parking.progressAt = parking.now();
    },

    /** Tries to store a step, once. */
    async note(step: Step): Promise<void> {
      await store(step).catch(() => {});
    },
  };
}
