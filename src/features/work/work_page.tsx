/** @jsxImportSource @hono/hono/jsx */
/**
 * One task of a person: its progress, its questions and its result.
 *
 * @module
 */
import { AskedOnce } from "../account_page/connection_forms.tsx";
import { AccountForm, type FormPage } from "../../core/pages/layout.tsx";
import {
  FutureTime,
  PastTime,
  printDuration,
} from "../../core/pages/times.tsx";
import {
  type QuestionInWords,
  QuestionItem,
} from "../questions/question_form.tsx";
import { shownMessage, ToolOfWork } from "../../core/pages/names.tsx";
import { AskedBy, type WorkInWords, WorkStateBadge } from "./work_section.tsx";
import { type StepInWords, WorkSteps } from "./work_steps.tsx";

export interface WorkPageProps extends FormPage, WorkInWords {
  updatedAt: number;
  expiresAt: number;
  /** For durable work: the seconds for which the ended task is stored. */
  keep?: number;
  isOpen: boolean;
  statusMessage?: string;
  steps: readonly StepInWords[];
  questions: readonly QuestionInWords[];
  /** The result or error; absent before the end. */
  result?: { text: string; isTruncated: boolean };
  now: number;
}

export function WorkPage(props: WorkPageProps) {
  const { base = "", client, statusMessage, steps, result, now } = props;
  return (
    <>
      <p>
        <a href={`${base}/account/work`}>All your work</a>
      </p>
      <section class="card" aria-label="This task">
        <div class="row-head">
          <h2 class="row-title">
            <ToolOfWork {...props} />
          </h2>
          <span>
            <WorkStateBadge
              state={props.state}
              until={props.until}
              now={now}
            />
          </span>
        </div>
        <p class="small soft">
          Asked by <AskedBy client={client} />{" "}
          <PastTime at={props.createdAt} now={now} />, last change{" "}
          <PastTime at={props.updatedAt} now={now} />.{" "}
          {props.isOpen && props.keep !== undefined
            ? `Kept for ${printDuration(props.keep)} after its end`
            : (
              <>
                Kept until <FutureTime at={props.expiresAt} now={now} />
              </>
            )}.
        </p>
        {statusMessage && (
          <p class="said">
            <bdi>{shownMessage(statusMessage)}</bdi>
          </p>
        )}
        {props.isOpen && (
          <AskedOnce label="Cancel" of="this task">
            <p class="small">
              What it has done stays done, and it does not go on. That cannot be
              undone.
            </p>
            <AccountForm
              base={base}
              csrf={props.csrf}
              back={props.back}
              action="/account/work/cancel"
              fields={{ task: props.taskId }}
            >
              <button class="quiet danger" type="submit">
                Cancel this task
              </button>
            </AccountForm>
          </AskedOnce>
        )}
      </section>
      <Questions {...props} />
      {result && <Result of={result} hasFailed={props.state === "failed"} />}
      {steps.length > 0 && (
        <section>
          <h2>Steps</h2>
          <div class="card">
            <WorkSteps steps={steps} now={now} />
          </div>
        </section>
      )}
    </>
  );
}

/** The open questions, each with its form, link or button. */
function Questions(
  { base, csrf, back, taskId, questions, state }: Pick<
    WorkPageProps,
    "base" | "csrf" | "back" | "taskId" | "questions" | "state"
  >,
) {
  if (questions.length === 0) return null;
  return (
    <section>
      <h2>
        {questions.every(({ way }) => way === "client")
          ? "Waiting for the app"
          : state === "approving"
          ? "Waiting for someone else"
          : "Waiting for your answer"}
      </h2>
      <div class="card">
        <ul class="rows">
          {questions.map((question, index) => (
            <QuestionItem
              id={`question-${index + 1}`}
              base={base}
              csrf={csrf}
              back={back}
              taskId={taskId}
              question={question}
            />
          ))}
        </ul>
      </div>
    </section>
  );
}

/** The result as text, or the reason of the failure. */
function Result(
  { of: { text, isTruncated }, hasFailed }: {
    of: NonNullable<WorkPageProps["result"]>;
    hasFailed: boolean;
  },
) {
  return (
    <section>
      <h2>{hasFailed ? "Why it failed" : "Result"}</h2>
      <div class="card">
        {text === "" ? <p class="soft">It gave no words.</p> : (
          <p class="said">
            <bdi>{text}</bdi>
          </p>
        )}
        {isTruncated && (
          <p class="small soft">
            Cut here: the app that asked has all of it.
          </p>
        )}
      </div>
    </section>
  );
}
