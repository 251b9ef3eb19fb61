/** @jsxImportSource @hono/hono/jsx */
/**
 * The steps of durable work, in the order in which they were begun.
 *
 * @module
 */
import { FutureTime, PastTime } from "../../core/pages/times.tsx";
import { shownMessage } from "../../core/pages/names.tsx";

/**
 * The words for a state, and the tone of its badge. If the state has a time,
 * also the words before the time, and the form of a future time.
 */
type StateWords = readonly [
  words: string,
  tone: string,
  lead?: string,
  Time?: typeof PastTime,
];

/**
 * The states of a step. `tried`: it failed and will be tried again.
 * `uncertain`: the task ended during it. `left`: the task ended before it.
 * `awaiting`, `waited`: it waits, or has waited, for a webhook.
 */
const STATES = {
  kept: ["Kept", "good"],
  running: ["Running", "", "Since "],
  tried: ["To be tried again", "warn", "next try ", FutureTime],
  failed: ["Failed", "bad"],
  uncertain: ["May have happened", "warn"],
  sleeping: ["Sleeping", "", "Until ", FutureTime],
  slept: ["Slept", "good"],
  awaiting: ["Waiting for word", "", "Until ", FutureTime],
  waited: ["Over", "good"],
  left: ["Cut off", ""],
  asking: ["Waiting for an answer", "warn", "Since "],
  answered: ["Answered", "good"],
} as const satisfies Record<string, StateWords>;

export interface StepInWords {
  name: string;
  state: keyof typeof STATES;
  /**
   * The time of the state, in epoch seconds. For `tried`, `sleeping` and
   * `awaiting`, the time at which it ends.
   */
  at: number;
  /** The tries so far, and the maximum number. */
  tries?: number;
  most?: number;
  /**
   * The message of the {@linkcode ToolError} with which the step last failed.
   */
  said?: string;
}

/** The maximum number of steps on a page. */
const MAX_STEPS = 200;
/** The maximum length in characters of a failure's message on the page. */
const MAX_FAILURE_CHARACTERS = 300;

export function WorkSteps(
  { steps, now }: { steps: readonly StepInWords[]; now: number },
) {
  const shown = steps.slice(-MAX_STEPS);
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
                <bdi>{shownMessage(step.name)}</bdi>
              </h3>
              <span class={`badge ${STATES[step.state][1]}`}>
                {STATES[step.state][0]}
              </span>
            </div>
            <p class="small soft">
              <StepTime {...step} now={now} />
            </p>
            {step.said !== undefined && (
              <p class="small said">
                <bdi>{shownMessage(step.said, MAX_FAILURE_CHARACTERS)}</bdi>
              </p>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

function StepTime(
  { state, at, tries = 0, most, now }: StepInWords & { now: number },
) {
  const [, , lead = "", Time = PastTime]: StateWords = STATES[state];
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
