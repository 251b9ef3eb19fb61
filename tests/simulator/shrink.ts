/**
 * The smallest simulation in which the same promise is broken: with fewer
 * faults, fewer clients and fewer steps.
 *
 * @module
 */
import { FAULTS, type Simulation } from "./faults.ts";
import { type Outcome, simulate, type Surroundings } from "./simulation.ts";

/** Names the kind of promise that was broken, without names and numbers. */
export function kindOf({ broken }: Outcome): string | undefined {
  return broken?.message.replace(/^after \S+ s: /, "")
    .replaceAll(/[\w-]{32,}/g, "…").replaceAll(/\d[\d.]*/g, "n").slice(0, 70);
}

/** Leaves out of a simulation what its broken promise does not need. */
export async function shrink(
  outcome: Outcome,
  surroundings?: Surroundings,
): Promise<Outcome> {
  const kind = kindOf(outcome);
  let least = outcome;
  const attempt = async (changes: Partial<Simulation>): Promise<boolean> => {
    const simulation = { ...least.simulation, ...changes };
    const tried = await simulate(simulation, surroundings);
    const isSame = kindOf(tried) === kind;
    if (isSame) least = tried;
    return isSame;
  };
  /** Leaves out all of some parts, or else as many as it can. */
  const leaveOut = async (parts: readonly string[]): Promise<void> => {
    const { without = [] } = least.simulation;
    if (await attempt({ without: [...without, ...parts] })) return;
    if (parts.length < 2) return;
    const middle = parts.length >> 1;
    await leaveOut(parts.slice(0, middle));
    await leaveOut(parts.slice(middle));
  };
  await leaveOut(Object.keys(FAULTS));
  await leaveOut(outcome.apps);
  // The events after the last step were not needed.
  if (least.steps < least.simulation.steps) {
    await attempt({ steps: least.steps });
  }
  while (
    least.simulation.steps > 100 &&
    await attempt({ steps: Math.floor(least.simulation.steps * 0.7) })
  );
  return least;
}
