/**
 * The reasons for which durable work is interrupted.
 *
 * @module
 */
import type { Step } from "../../store/steps.ts";
import { named, placeOf } from "./step_name.ts";

/**
 * The reason of a run that left its process. The task itself goes on elsewhere.
 */
export class Parked extends Error {
  override name = "Parked";
}

/** The reason when the caller may no longer call. */
export class Expelled extends Error {
  override name = "Expelled";
}

/** A step, sleep or question that came where earlier runs had another one. */
interface Found {
  id: string;
  number: number;
  question?: { text: string };
  where: Error;
}

/** Thrown when the author's code was changed while its work was under way. */
export class DivergenceError extends Error {
  override name = "DivergenceError";

  /**
   * @param before the step that earlier runs asked for
   * @param instead the step that came instead; absent if the run ended
   */
  constructor(before: Step, instead?: Found) {
    const was = named(before.id, before.asks);
    const found = instead
      ? `number ${before.number} was ${was}, and ${
        named(instead.id, instead.question?.text)
      } is number ${instead.number}${placeOf(instead.where)}`
      : `${was}, which was number ${before.number}, is not there any more`;
    super(
      `The work has changed: ${found}. ` +
        "Put it back, or raise the version of the tool's task",
    );
  }
}
