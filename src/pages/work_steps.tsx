/** @jsxImportSource @hono/hono/jsx */
/**
 * The steps of durable work, in the order in which they were begun.
 *
 * @module
 */
import { visible } from "../log/log_line.ts";
import { Moment, Upcoming } from "./table.tsx";
import { shownMessage } from "./wait_page.tsx";

export interface StepInWords {
  name: string;
  /**
   * `tried`: it is tried again later; `uncertain`: the task ended while it ran;
   * `left`: the task ended before it; `awaiting` and `waited`: for a word from
   * outside.
   */
  state:
    | "kept"
    | "running"
    | "tried"
    | "failed"
    | "uncertain"
    | "sleeping"
    | "slept"
    | "awaiting"
    | "waited"
    | "left"
    | "answered";
  /** The time of the state; for what is to come, its end. Epoch seconds. */
  at: number;
  /** The tries so far, and the most that there may be. */
  tries?: number;
  most?: number;
  /** The words of the tool for its last failure. */
  said?: string;
}

/** The most steps of a page. */
const MOST_STEPS = 200;
/** The most characters of the words for a failure. */
const SAID_CHARACTERS = 300;

const TONES: Readonly<Record<StepInWords["state"], [string, string]>> = {
  kept: ["Kept", "good"],
  running: ["Running", ""],
  tried: ["To be tried again", "warn"],
  failed: ["Failed", "bad"],
  uncertain: ["May have happened", "warn"],
  sleeping: ["Sleeping", ""],
  slept: ["Slept", "good"],
  awaiting: ["Waiting for word", ""],
  waited: ["Over", "good"],
  left: ["Cut off", ""],
  answered: ["Answered", "good"],
};

export function WorkSteps(
  { steps, now }: { steps: readonly StepInWords[]; now: number },
) {
  const shown = steps.slice(-MOST_STEPS);
  return (
    <>
      {shown.length < steps.length && (
        <p class="small soft">
          The last {shown.length} of {steps.length}.
        </p>
      )}
      <ol class="rows steps">
        {shown.map((step) => (
          <li>
            <div class="row-head">
              <h3 class="row-title">
                <bdi>{visible(step.name)}</bdi>
              </h3>
              <span class={`badge ${TONES[step.state][1]}`}>
                {TONES[step.state][0]}
              </span>
            </div>
            <p class="small soft">
              <StepTime {...step} now={now} />
            </p>
            {step.said !== undefined && (
              <p class="small said">
                <bdi>{shownMessage(step.said, SAID_CHARACTERS)}</bdi>
              </p>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

/** The lead and the component of a time, where it is not simply past. */
const TIMES: Partial<
  Record<StepInWords["state"], [lead: string, Time: typeof Moment]>
> = {
  running: ["Since ", Moment],
  sleeping: ["Until ", Upcoming],
  awaiting: ["Until ", Upcoming],
  tried: ["next try ", Upcoming],
};

/** The time of a step, and its tries. */
function StepTime(
  { state, at, tries = 0, most, now }: StepInWords & { now: number },
) {
  const [lead, Time] = TIMES[state] ?? ["", Moment];
  const isCounted = state === "tried" ||
    lead === "" && (most !== undefined || tries > 1);
  return (
    <>
      {isCounted &&
        `Tried ${tries}${most === undefined ? "" : ` of ${most}`}, `}
      {lead}
      <Time at={at} now={now} />
    </>
  );
}
