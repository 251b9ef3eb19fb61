/** @jsxImportSource @hono/hono/jsx */
/**
 * The page of an approval: who asks for which call, and the person's answer.
 *
 * @module
 */
import { BLANKS } from "../../core/log/log_line.ts";
import {
  type ClientInWords,
  ClientName,
  ClientNameAndBadge,
  displayName,
  PersonName,
  shownMessage,
  type ToolInWords,
  ToolTitle,
  withoutHidden,
} from "../../core/pages/names.tsx";
import {
  AccountForm,
  CardPage,
  FactRow,
  type PageProps,
} from "../../core/pages/layout.tsx";
import {
  FutureTime,
  PastTime,
  printDuration,
} from "../../core/pages/times.tsx";
import { SignedInLine } from "../questions/wait_page.tsx";
import { type ApprovalState, isOpenRun } from "../questions/wait_record.ts";
import type { AskingTaskState } from "./approval_task.ts";
import { callTexts } from "./approval_words.ts";
import { isTakenBack } from "./approver.ts";
import type { CallApproval } from "./call_approval.ts";
import { FRONT_SCRIPT } from "../../core/pages/scripts.ts";
import { PASSKEY_SCRIPT } from "./passkey_script.ts";
import type { AskedPasskey } from "./passkeys.ts";

/** The maximum length in characters of the reason for a refusal. */
export const MAX_REASON_CHARACTERS = 500;

interface ApprovalProps extends PageProps, ToolInWords {
  approval: CallApproval;
  person: string;
  subject: string;
  client: ClientInWords;
  csrf: string;
  now: number;
  /** False for the caller if someone else has to approve. */
  mayDecide: boolean;
  /** Undefined if a call or durable work has asked. */
  task?: AskingTaskState;
  /** The base URL that durable work waits for, because no server has it. */
  awaitedAddress?: string;
  /** The last run of the same call, if another approval began it. */
  otherRun?: CallApproval;
  /** Undefined if the approval is still asked for so, or its run has begun. */
  outdated?: Outdated;
  /** The passkey that approving needs, if any. */
  passkey?: AskedPasskey;
  /**
   * True if the person may let further calls like this run without approval.
   */
  mayRemember?: boolean;
}

/**
 * Matches words of scripts that are written from right to left (Unicode UAX
 * #9).
 */
const LEFTWARD =
  "[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]+";
const TO_THE_LEFT = new RegExp(`${LEFTWARD}(?: ${LEFTWARD})*`, "gu");

/** Isolates right-to-left words, so that the text around them keeps its order. */
const isolated = (text: string) =>
  text.replaceAll(TO_THE_LEFT, "\u2068$&\u2069");

/**
 * Turns untrusted text into one line without hidden or reordering characters.
 */
export function harmlessLine(text: string): string {
  return isolated(withoutHidden(text.toWellFormed()));
}

/**
 * The maximum indent in spaces. Otherwise deep arguments of 10 KB would fill a
 * page of 2 MB.
 */
const MAX_INDENT = 16;

/**
 * Matches line ends with their indent, and characters that are escaped in
 * arguments.
 */
const HIDING = new RegExp(
  String.raw`\n *| (?= )|(?! )[\p{C}\p{Z}\p{M}${BLANKS}]`,
  "gu",
);

/**
 * Formats arguments as JSON. Escapes characters that hide or reorder text, and
 * all but the last of several spaces in a row.
 */
export function printArguments(input: unknown): string {
  const text = JSON.stringify(input, undefined, 2).replaceAll(
    HIDING,
    (sign) =>
      sign.startsWith("\n")
        ? sign.slice(0, 1 + MAX_INDENT)
        : sign.split("").map((unit) =>
          `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
        ).join(""),
  );
  return isolated(text);
}

/** The page of an approval that is waiting. Respond with `forms: "self"`. */
export function ApprovalPage(props: ApprovalProps) {
  const { base, approval, client, csrf, now, passkey } = props;
  const { mayDecide, outdated, otherRun } = props;
  const { isPaused, approval: { scope } } = approval;
  const { payload: { title, facts, input, accounts, before, caller, offer } } =
    approval;
  const last = otherRun?.approval ?? before;
  const isUnknown = otherRun !== undefined && isOpenRun(otherRun);
  const isRefused = approval.answer !== undefined;
  const isCut = [title, ...Object.entries(facts).flat()]
    .some((it) => it.endsWith("…"));
  const mayApprove = !passkey || passkey.get !== undefined;
  return (
    <CardPage
      {...props}
      title={isRefused ? "Refused" : "Approve"}
      scripts={[FRONT_SCRIPT, ...passkey ? [PASSKEY_SCRIPT] : []]}
      heading={
        <>
          <ClientName name={client.name} /> wants to
          {title === props.tool && " run"}:
          <br />
          <bdi dir="ltr">{harmlessLine(title)}</bdi>
        </>
      }
    >
      {isRefused && <AnswerOf {...props} />}
      <p class="lead">
        {outdated !== "unasked" && !isUnknown && "Nothing has been done yet. "}
        {isPaused
          ? (
            <>
              Its connection is paused: resume it on{" "}
              <a href={`${base ?? ""}/account`}>your account</a>, then come
              back.
            </>
          )
          : !mayDecide
          ? (
            <>
              {isRefused ? "It can still be approved by" : "It waits for"}{" "}
              someone else, who has the permission <code>{scope}</code>.{" "}
              {isRefused
                ? "They need the link of this page, and the app then has to ask for it again."
                : "They find it on their account page here, or by the link of this page."}
            </>
          )
          : isRefused
          ? "Approve it only if you want exactly this after all: the app then has to ask for it again."
          : "Approve it only if you want exactly this."}
      </p>
      {outdated && <p class="note warn">{OUTDATED[outdated]}</p>}
      {last?.begunAt !== undefined && (
        <p class={isUnknown ? "note warn" : "note"}>
          The same was approved before, and begun{" "}
          <PastTime at={last.begunAt} now={now} />. {isUnknown
            ? "Its end is not known yet: this begins only once it is, or someone says that they have looked."
            : endInWords(last)}
        </p>
      )}
      <dl class="facts">
        {Object.entries(facts).map(([name, fact]) => (
          <FactRow term={harmlessLine(name)}>
            <strong>
              <bdi dir="ltr">{harmlessLine(fact)}</bdi>
            </strong>
          </FactRow>
        ))}
        {accounts.map(([service, name]) => (
          <FactRow term={`Account at ${service}`}>
            <bdi>{harmlessLine(name)}</bdi>
          </FactRow>
        ))}
        {scope !== undefined && (
          <FactRow term="For whom">
            <PersonName {...caller} />
          </FactRow>
        )}
        <FactRow term="Who asks">
          <ClientNameAndBadge client={client} />, with the tool{" "}
          <ToolTitle {...props} hasName />,{" "}
          <PastTime at={approval.createdAt} now={now} />. It can be approved
          until{" "}
          <FutureTime
            at={isRefused ? approval.expiresAt : approval.approval.closesAt!}
            now={now}
          />.
        </FactRow>
        <FactRow term="What comes next">
          {outdated !== "unasked" &&
            "It is done once, with the arguments below, whatever the app sends later."}
          <SignedInLine person={props.person} />
        </FactRow>
      </dl>
      {isCut && (
        <p class="note">
          The words above are cut at “…”. The arguments are whole, but need not
          have what was cut.
        </p>
      )}
      <details open={isCut || Object.keys(facts).length === 0}>
        <summary>The arguments, which the app has sent</summary>
        <pre dir="ltr">{printArguments(input)}</pre>
      </details>
      {mayDecide && <PasskeyNote {...props} />}
      {(mayDecide || !isRefused && !isPaused) && (
        <AccountForm
          base={base}
          csrf={csrf}
          action={`/approve/${approval.id}`}
          data-get={passkey?.get && JSON.stringify(passkey.get)}
        >
          {isRefused && <input type="hidden" name="refused" value="on" />}
          {!isRefused && (
            <label>
              Why not{" "}
              <span class="small soft">
                (if you{" "}
                {mayDecide ? "refuse" : "withdraw it"}; the app reads it)
              </span>
              <input
                type="text"
                name="reason"
                maxlength={MAX_REASON_CHARACTERS}
                autocomplete="off"
              />
            </label>
          )}
          <p class="note" role="status" hidden></p>
          {mayDecide && !isRefused && offer && props.mayRemember && (
            <label class="tick">
              <input type="checkbox" name="remember" value="on" />
              <span>
                Also approve without asking me, for{" "}
                {printDuration(offer.seconds)}:{" "}
                <bdi>{harmlessLine(offer.label)}</bdi>
              </span>
            </label>
          )}
          <div class="actions">
            {/* Enter in a field presses the first button of its form. */}
            {!isRefused && (
              <button type="submit" name="answer" value="refuse">
                {mayDecide ? "Refuse" : "Withdraw"}
              </button>
            )}
            {mayDecide && mayApprove && (
              <button
                class="primary"
                type="submit"
                name="answer"
                value="approve"
                data-passkey={passkey && "get"}
              >
                {passkey ? "Approve with a passkey" : "Approve"}
              </button>
            )}
          </div>
        </AccountForm>
      )}
    </CardPage>
  );
}

/** The note on the passkey that an approval needs, and on where to make one. */
function PasskeyNote(
  { base = "", approval, passkey, now }: ApprovalProps,
) {
  const asks = approval.approval.passkey;
  if (asks === undefined || passkey?.get) return null;
  const page = `${base}/account/passkeys?call=${approval.id}`;
  return (
    <p class="note">
      {passkey?.from !== undefined
        ? (
          <>
            You need a passkey for this, and can use yours from{" "}
            <FutureTime at={passkey.from} now={now} /> on.
          </>
        )
        : passkey
        ? "You need a passkey for this: make one, then come back to this page."
        : "Without a passkey, a program that runs in your browser could press this button too."}
      {" "}
      <a href={page}>Your passkeys</a>
    </p>
  );
}

const ENDS: Readonly<Record<string, string>> = {
  ok: "It was done.",
  tool_error: "It was begun, and ended with an error that the app was told.",
  failed: "It was begun, and failed.",
  cancelled:
    "It was begun, and cancelled in the middle: some or all of it may have been done.",
  unknown: "Its end is not known, and someone said that they have looked.",
  withdrawn: "The app has withdrawn it, and nothing was run.",
  asked: "It was begun, and ended with a question to the app.",
};

const ASKED = "A run had begun, and ended with a question to the app.";

function endInWords({ begunAt, outcome }: Partial<ApprovalState>) {
  return outcome === "withdrawn" && begunAt !== undefined
    ? `The app has withdrawn it. ${ASKED}`
    : outcome && ENDS[outcome];
}

/**
 * A change since a call asked: of the server or its tool, or that calls of the
 * tool need no approval any more.
 */
export type Outdated = "changed" | "unasked";

const OUTDATED: Readonly<Record<Outdated, string>> = {
  changed:
    "The server has changed since the app asked: it may have to ask again, and you to approve it again.",
  unasked:
    "The server has changed since the app asked: this needs no approval any more. The app can do it, or has done it, whatever is answered here.",
};

/** Describes an approved call of a plain task that has not begun. */
const TASKS: Readonly<Record<AskingTaskState, string>> = {
  runs:
    "Approved, and nothing was run so far. The task begins it within seconds, unless its tool has reached its limit, or its process has just ended.",
  unheld:
    "Approved, but nothing has begun: the process of the task does not answer.",
  ended:
    "Approved, but its task has ended before it began, and nothing was run. The app has to ask again.",
};

/** Describes in a word what a person or the client decided. */
function wordOf(approval: CallApproval): string {
  if (isTakenBack(approval)) return "Withdrawn by the person who asked";
  if (approval.approval.outcome === "withdrawn") return "Withdrawn";
  return approval.answer?.action === "decline" ? "Refused" : "Approved";
}

/** Describes in a sentence what became of an approval. */
function stateInWords(
  { approval, subject, outdated, task, awaitedAddress }: ApprovalProps,
): string {
  const { state, answer, pageTask, approval: { begunAt, endedAt } } = approval;
  if (answer?.action === "decline") {
    return `${wordOf(approval)}. The app is told so.`;
  }
  const goesOn = awaitedAddress === undefined
    ? "goes on by itself"
    : `goes on once the server has its address ${awaitedAddress} again`;
  if (state === "answered") {
    if (begunAt !== undefined) {
      const next = outdated
        ? OUTDATED[outdated]
        : "It begins again with the answer.";
      return `Approved. ${ASKED} ${next}`;
    }
    if (outdated) {
      const but = outdated === "changed" ? ", but nothing has begun" : "";
      return `Approved${but}. ${OUTDATED[outdated]}`;
    }
    if (task) return TASKS[task];
    if (pageTask !== undefined) return `Approved. The work ${goesOn}.`;
    return approval.subject === subject
      ? "Approved. It begins when the app goes on: if it does not go on by itself, ask it to try again."
      : "Approved. It begins when the app goes on.";
  }
  if (endedAt !== undefined) {
    return endInWords(approval.approval) ?? "It has ended.";
  }
  return isDurable(approval)
    ? `It has begun, and ${goesOn}.`
    : "It has begun, and its end is not known yet.";
}

const isDurable = ({ taskAddress }: CallApproval) => taskAddress !== undefined;

/** The person's answer, with the reason if it is a refusal. */
function AnswerOf(props: ApprovalProps) {
  const { base = "", outdated, task } = props;
  const { state, answer, approval, payload: { offer } } = props.approval;
  const reason = answer?.action === "decline" ? answer.reason : undefined;
  const isGood = state === "used"
    ? approval.outcome === "ok"
    : reason === undefined && !outdated && (task ?? "runs") === "runs" &&
      props.awaitedAddress === undefined;
  return (
    <>
      <p class={isGood ? "note good" : "note"} role="status">
        {stateInWords(props)}
      </p>
      {reason && (
        <p class="said">
          <bdi>{shownMessage(reason)}</bdi>
        </p>
      )}
      {answer?.remembers && offer && approval.outcome !== "withdrawn" && (
        <p>
          You also approved without being asked, for{" "}
          {printDuration(offer.seconds)}:{" "}
          <bdi>{harmlessLine(offer.label)}</bdi>. You can end that on{" "}
          <a href={`${base}/account`}>your account</a>.
        </p>
      )}
    </>
  );
}

/** The page after the answer. Respond with `forms: "self"`. */
export function ApprovalAnsweredPage(props: ApprovalProps) {
  const { base = "", approval, client, csrf, now } = props;
  const { payload: { title } } = approval;
  const { begunAt } = approval.approval;
  const isOwn = approval.subject === props.subject;
  const isUnderWay = begunAt !== undefined && isOpenRun(approval);
  return (
    <CardPage
      {...props}
      title={wordOf(approval)}
      heading={<bdi>{harmlessLine(title)}</bdi>}
    >
      <AnswerOf {...props} />
      {isUnderWay && !isDurable(approval) && (props.mayDecide || isOwn) && (
        <AccountForm base={base} csrf={csrf} action={`/approve/${approval.id}`}>
          <p>
            It began{" "}
            <PastTime at={begunAt} now={now} />. If it is still under way, its
            end will be told here: wait for it. If its process has ended in the
            middle, it is never begun again by itself: look whether it has
            happened. Then the app may ask for it again.
          </p>
          <div class="actions">
            <button type="submit" name="answer" value="looked">
              I have looked
            </button>
          </div>
        </AccountForm>
      )}
      {isOwn && (
        <p>
          You can go back to <ClientName name={client.name} />.
          {approval.pageTask && (
            <>
              {" "}
              <a href={`${base}/account/work?task=${approval.pageTask}`}>
                The work
              </a>{" "}
              has its own page.
            </>
          )}
        </p>
      )}
      <p>
        <a href={`${base}/account`}>Your account</a>
      </p>
    </CardPage>
  );
}

/**
 * Describes an approval in the list of waiting calls. Facts or arguments
 * distinguish approvals with the same title.
 */
export function approvalInWords(
  { state, answer, payload }: CallApproval,
): string {
  const { title, facts } = callTexts(payload);
  const told = Object.entries(facts).map(([name, it]) => `${name}: ${it}`)
    .join(", ");
  const name = [title, told].map((text) => displayName(text, ""))
    .filter(Boolean).join("; ");
  if (state === "used") return `Begun, and its end is not known: ${name}`;
  return answer
    ? `You refused, and can still approve: ${name}`
    : `Wants your approval: ${name}`;
}
