/**
 * The reasons for which durable work ends in the middle of its author's code.
 *
 * @module
 */
import type { Step } from "../../store/steps.ts";
import { named, placeOf } from "./step_name.ts";

/** The run has left its process: its end is not the end of the task. */
export class Parked extends Error {
  override name = "Parked";
}

/** The permission of the caller has ended. */
export class Expelled extends Error {
  override name = "Expelled";
}

/** A step, sleep or question that is asked for in the place of another. */
interface Found {
  id: string;
  number: number;
  question?: { text: string };
  where: Error;
}

/** The code of an author has changed while its work was under way. */
export class DivergenceError extends Error {
  override name = "DivergenceError";

  /**
   * @param before the step that earlier runs asked for
   * @param instead absent: the run is over
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
