/**
 * The kinds of data that are kept about a person: the one table from which the
 * page, the copy and the documentation are made.
 *
 * @module
 */
import { MAX_KEEP_SECONDS } from "../../../authoring/durable.ts";
import {
  APPROVAL_TTL_SECONDS,
  AUTHORIZATION_REQUEST_TTL_SECONDS,
  type Lifetimes,
} from "../../oauth/lifetimes.ts";
import { ACCOUNT_SESSION_SECONDS } from "../../../features/account_page/account_sessions.ts";
import { TOKENS_SECONDS } from "../../store/access_tokens.ts";
import { CONNECTION_SECONDS } from "../../store/connections.ts";
import { ERASED_SECONDS } from "../../store/erased.ts";
import { LISTED_LONGER_SECONDS } from "../../store/listed_people.ts";
import { DURABLE_SECONDS } from "../../../features/work/run_record.ts";
import { printDuration } from "../../pages/times.tsx";
import { REVOCATION_SECONDS } from "../../store/revocations.ts";
import { SESSION_SECONDS } from "../../store/sessions.ts";
import { TASK_SECONDS } from "../../../features/work/task_record.ts";
import { WAIT_SECONDS } from "../../../features/questions/waits.ts";

/** The settings on which the table depends. */
export interface KeptUnder {
  /** The days after which an unused account is disconnected. */
  accountIdleDays: number;
  lifetimes: Lifetimes;
  /** The days for which calls are stored; 0 for none. */
  ledgerDays: number;
}

/** A kind of data that is kept about a person. */
export interface KeptData {
  /** The data, for the person. */
  what: string;
  /** The first parts of the keys under which it is. */
  keys: readonly string[];
  /** The time for which it is stored; undefined if the settings store none. */
  until(settings: KeptUnder): string | undefined;
  /** Its member in the copy; undefined if secret, or derived from others. */
  member?: string;
  /** The reason why an erasure leaves it; undefined if it is deleted. */
  stays?: string;
}

export const KEPT_DATA: readonly KeptData[] = [
  {
    what:
      "Connections and access tokens, with your name, address and groups as the provider tells them",
    keys: [
      "grant",
      "grant-of-subject",
      "code",
      "access-token",
    ],
    until: ({ lifetimes: { grantSeconds, personalTokenSeconds } }) =>
      `until they end (${
        printDuration(grantSeconds)
      } at most; your own access ` +
      `tokens ${printDuration(personalTokenSeconds)}). After that, without ` +
      "your name and address, unless it is blocked, until that same date",
    member: "connections",
  },
  {
    what: "The provider's tokens, sealed",
    keys: ["upstream"],
    until: () => "until their connection ends",
  },
  {
    what: "Your place in the list of people",
    keys: ["person-name", "person-word", "person-listed"],
    until: () =>
      `${
        printDuration(LISTED_LONGER_SECONDS)
      } longer than your last connection`,
  },
  {
    what: "Pauses of connections, and permissions taken away from apps",
    keys: ["connection"],
    until: () =>
      `${printDuration(CONNECTION_SECONDS)} after the last sign-in or change`,
    member: "changedConnections",
  },
  {
    what: "Your latest calls: tool, time and outcome",
    keys: ["ledger"],
    until: ({ ledgerDays }) =>
      ledgerDays > 0
        ? `${
          printDuration(ledgerDays * 86_400)
        }, or until their connection ends`
        : undefined,
    member: "connections",
  },
  {
    what: "Sessions of apps, with open questions",
    keys: ["session", "session-of", "reply"],
    until: () =>
      `${
        printDuration(SESSION_SECONDS)
      } after their last use, or until their ` +
      "connection ends",
    member: "sessions",
  },
  {
    what:
      "Tasks: questions, answers and the result; of long work also its input and its steps",
    keys: [
      "task",
      "task-of",
      "task-answer",
      "repeat",
      "task-run",
      "task-step",
      "wake",
      "text",
    ],
    until: () =>
      `${
        printDuration(TASK_SECONDS)
      } after their end; long work until it ends, ` +
      `${printDuration(DURABLE_SECONDS)} at most, and then as long as its ` +
      `tool keeps it, ${printDuration(MAX_KEEP_SECONDS)} at most`,
    member: "tasks",
  },
  {
    what: "Questions on pages of this server and approvals of calls, sealed, " +
      "with your answers",
    keys: ["wait", "wait-of", "wait-of-asker"],
    until: () =>
      `${printDuration(WAIT_SECONDS)}, or as long as a tool waits, for a day ` +
      "once an approved call has begun, " +
      `${printDuration(DURABLE_SECONDS)} at most`,
    member: "waits",
  },
  {
    what: "Your accounts at other services, their keys and tokens sealed",
    keys: ["account"],
    until: ({ accountIdleDays }) =>
      "until you disconnect them, or " +
      `${printDuration(accountIdleDays * 86_400)} after their last use`,
    member: "accounts",
  },
  {
    what:
      "Tokens of accounts that you disconnected, sealed and without a name, for their service to end",
    keys: ["revocation"],
    until: () => `until it has, ${printDuration(REVOCATION_SECONDS)} at most`,
    stays: "so that the service ends them",
  },
  {
    what: "Being signed in here",
    keys: ["account-session", "account-session-of", "made-token"],
    until: () => printDuration(ACCOUNT_SESSION_SECONDS),
    member: "accountSessions",
  },
  {
    what: "A fingerprint, since you made an access token",
    keys: ["tokens-of"],
    until: () => printDuration(TOKENS_SECONDS),
  },
  {
    what: "A block, if the people who run this server shut you out",
    keys: ["block"],
    until: () => "until they lift it",
    member: "block",
    stays: "so that who was shut out stays out",
  },
  {
    what: "The IDs of your connections, once you erased everything",
    keys: ["erased"],
    until: () => printDuration(ERASED_SECONDS),
    stays: "so that a call under way brings nothing back",
  },
  {
    what: "A sign-in on its way, and what a browser approved, without a name",
    keys: ["authorization-request", "approval"],
    until: () =>
      `${printDuration(AUTHORIZATION_REQUEST_TTL_SECONDS)}; ` +
      printDuration(APPROVAL_TTL_SECONDS),
    stays: "because it names no one",
  },
];

/** Lists the data that these settings keep about a person, and for how long. */
export function keptAbout(
  settings: KeptUnder,
): readonly (readonly [what: string, until: string, stays?: string])[] {
  return KEPT_DATA.flatMap(({ what, until, stays }) => {
    const time = until(settings);
    return time === undefined ? [] : [[what, time, stays] as const];
  });
}
