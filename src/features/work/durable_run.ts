/**
 * A run of durable work in this process. It goes on and stores its steps as
 * long as this process has the claim and the caller is allowed. Otherwise the
 * author's code is interrupted.
 *
 * @module
 */
import { CONFIRM_SECONDS } from "../../core/kv/leases.ts";
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
  /** Renews the claim; false if this process has lost it. */
  renew(): Promise<boolean>;
  /** True while the caller is allowed to do this work. */
  isAllowed(): Promise<boolean>;
  interrupt(reason: unknown): Promise<never>;
  /** The author's code, and the keys that it was given. */
  code(): Pick<AuthorCode, "given" | "clean">;
}

/** True while no other process can have taken the claim. */
function isSure({ renewedMilliseconds }: Claim): boolean {
  return performance.now() - renewedMilliseconds < CONFIRM_SECONDS * 1000;
}

export type DurableRun = ReturnType<typeof durableRun>;

export function durableRun(parts: RunParts) {
  const { claim, parking, signal, store, renew, isAllowed, interrupt } = parts;
  return {
    ...parts,

    /**
     * Returns if this process still has the claim and the caller is allowed;
     * otherwise interrupts the run. Never returns once the run is to leave its
     * process.
     */
    async goOn(): Promise<void> {
      if (parking.isReleased) return await parking.never();
      const isStillAllowed = await parking.activity(() =>
        persist(isAllowed, { signal })
      );
      if (!isStillAllowed) await interrupt(new Expelled());
      await this.holdOn();
    },

    /**
     * Returns if this process surely has the claim: one that stood still may
     * have lost it without a word. Otherwise interrupts the run.
     */
    async holdOn(): Promise<void> {
      // It may stand still again before it is told that the claim is renewed.
      while (!isSure(claim)) {
        const isRenewed = await parking.activity(() =>
          persist(renew, { signal })
        );
        if (!isRenewed) await interrupt(new Parked());
      }
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
