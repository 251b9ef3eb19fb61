/**
 * The table of all data stored about a person, from which the page, the
 * download and the documentation are made. Features add their rows.
 *
 * @module
 */
import {
  AUTHORIZATION_REQUEST_TTL_SECONDS,
  CONSENT_TTL_SECONDS,
  type Lifetimes,
} from "../../core/oauth/lifetimes.ts";
import { ACCOUNT_SESSION_SECONDS } from "./account_sessions.ts";
import { TOKENS_SECONDS } from "../../core/store/access_tokens.ts";
import { CONNECTION_SECONDS } from "../../core/store/connections.ts";
import { ERASED_SECONDS } from "../../core/store/erased.ts";
import { LISTED_LONGER_SECONDS } from "../../core/store/listed_people.ts";
import { printDuration } from "../../core/pages/times.tsx";
import type { Config } from "../../core/settings/config.ts";
import { SESSION_SECONDS } from "../../core/store/sessions.ts";

export interface KeptUnder extends Pick<Config, "features"> {
  lifetimes: Lifetimes;
  /** The days for which calls are stored; 0 stores none. */
  ledgerDays: number;
}

/** A kind of data stored about a person. */
export interface KeptData {
  /** The name of the data, for the person. */
  what: string;
  /** The first parts of its database keys. */
  keys: readonly string[];
  /** Describes how long the data is stored. Undefined if it is not. */
  until(settings: KeptUnder): string | undefined;
  /**
   * The data's member in the download. Undefined if it is secret or derived.
   */
  member?: string;
  /** The reason why an erasure leaves this data. Undefined if it is deleted. */
  stays?: string;
}

const OWN: readonly KeptData[] = [
  {
    what:
      "Connections and access tokens, with your name, address and groups as the provider tells them",
    keys: ["grant", "grant-of-subject", "code", "access-token"],
    until: ({ lifetimes: { grantSeconds, personalTokenSeconds } }) =>
      `until they end (${printDuration(grantSeconds)} at most; your own ` +
      `access tokens ${printDuration(personalTokenSeconds)}). After that, ` +
      "without your name and address, unless it is blocked, until that same date",
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
      printDuration(LISTED_LONGER_SECONDS) +
      " longer than your last connection",
  },
  {
    what: "Pauses of connections, and permissions taken away from apps",
    keys: ["connection"],
    until: () =>
      `${printDuration(CONNECTION_SECONDS)} after the last sign-in or change`,
    member: "changedConnections",
  },
  {
    what: "Sessions of apps, with open questions",
    keys: ["session", "session-of", "reply"],
    until: () =>
      printDuration(SESSION_SECONDS) +
      " after their last use, or until their connection ends",
    member: "sessions",
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
    what: "A sign-in on its way, and what a browser granted, without a name",
    keys: ["authorization-request", "consent"],
    until: () =>
      `${printDuration(AUTHORIZATION_REQUEST_TTL_SECONDS)}; ` +
      printDuration(CONSENT_TTL_SECONDS),
    stays: "because it names no one",
  },
];

/** Joins the table with the rows of features. */
export function keptData(
  additions: readonly { kept?: readonly KeptData[] }[],
): readonly KeptData[] {
  return [...OWN, ...additions.flatMap(({ kept = [] }) => kept)];
}

/** Lists the data stored about people under these settings, and how long. */
export function keptAbout(
  table: readonly KeptData[],
  settings: KeptUnder,
): readonly (readonly [what: string, until: string, stays?: string])[] {
  return table.flatMap(({ what, until, stays }) => {
    const time = until(settings);
    return time === undefined ? [] : [[what, time, stays] as const];
  });
}
