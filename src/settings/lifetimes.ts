/**
 * The settings of how long things live.
 *
 * @module
 */
import type { Lifetimes } from "../auth/rules/lifetimes.ts";
import { type Settings, settingsOf } from "./setting.ts";
import { wholeNumber } from "./shapes.ts";

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

/** The settings of lifetimes. A shorter one counts for what is open, too. */
export const LIFETIMES = settingsOf({
  OAUTH_ACCESS_TOKEN_MINUTES: {
    words: "For how many minutes an access token of a client is good.",
    shape: wholeNumber("minutes", 24 * 60, 5),
    default: 60,
  },
  OAUTH_IDLE_DAYS: {
    words: "After how many days without use a connection ends.",
    shape: wholeNumber("days", 365, 1),
    default: 30,
  },
  OAUTH_CONNECTION_DAYS: {
    words: "After how many days a connection ends in any case.",
    shape: wholeNumber("days", 365, 1),
    default: 90,
  },
  OAUTH_PERSONAL_TOKEN_DAYS: {
    words: "For how many days an access token that a person makes on " +
      "`/account` is good at most.",
    shape: wholeNumber("days", 365, 1),
    default: 365,
  },
});

export function parseLifetimes(settings: Settings): Lifetimes {
  return {
    accessTokenSeconds: settings.read(LIFETIMES.OAUTH_ACCESS_TOKEN_MINUTES) *
      MINUTE,
    idleSeconds: settings.read(LIFETIMES.OAUTH_IDLE_DAYS) * DAY,
    grantSeconds: settings.read(LIFETIMES.OAUTH_CONNECTION_DAYS) * DAY,
    personalTokenSeconds: settings.read(LIFETIMES.OAUTH_PERSONAL_TOKEN_DAYS) *
      DAY,
  };
}
