/** @jsxImportSource @hono/hono/jsx */
/**
 * The notice that names a change that the person just made.
 *
 * @module
 */
import { escaped } from "../../core/log/log_line.ts";
import { ClientName, displayName } from "../../core/pages/names.tsx";

/** A change of connections, tokens or tasks. */
type Change = keyof typeof CHANGES;

/** The words for each change, with its consequence. */
const CHANGES = {
  paused: ["Paused", "It is refused until you resume it."],
  resumed: ["Resumed", "It can go on as before."],
  narrowed: ["Permissions taken away", "It gets them back only from you."],
  ended: ["Ended", "It opens nothing any more, and cannot be resumed."],
  endedAll: ["Ended everything", "Nothing of theirs is open any more."],
  gone: ["That connection had already ended", ""],
  cancelled: ["Cancelled", "What it had done before stays done."],
  over: ["That had already ended", ""],
  answered: ["Answered", "The task has your answer."],
  declined: ["Declined", "The task is told so."],
  answeredBefore: [
    "That question was answered before, or is over",
    "The first answer counts.",
  ],
  asksAgain: ["Ended", "It waits for you again from now on."],
  disconnected: ["Disconnected", "No tool acts with it any more."],
} as const;

export interface Notice {
  change: Change;
  /** The names of the changed clients or tokens; only the first few. */
  names?: readonly string[];
  /**
   * The person or machine whose grants were changed, if not the signed-in
   * person.
   */
  of?: { name: string; subject: string };
  /** The number of ended grants. */
  count?: number;
  /** The number of disconnected accounts at other services. */
  accounts?: number;
}

export function NoticeBox({ change, names = [], of, count, accounts }: Notice) {
  const [word, then] = CHANGES[change];
  const more = count === undefined ? 0 : count - names.length;
  return (
    <p class="note good" role="status">
      {word}
      {names.length > 0 && ": "}
      {names.map((name, index) => (
        <>
          {index > 0 && ", "}
          <ClientName name={name} />
        </>
      ))}
      {of && (
        <>
          {" of "}
          <bdi>{displayName(of.name)}</bdi> <code>{escaped(of.subject)}</code>
        </>
      )}
      {names.length === 0 && count !== undefined &&
        ` (${count} ${
          count === 1 ? "sign-in or token" : "sign-ins and tokens"
        }${accounts ? `, accounts at other services: ${accounts}` : ""})`}
      {names.length > 0 && more > 0 && ` (${count} sign-ins)`}. {then}
    </p>
  );
}
