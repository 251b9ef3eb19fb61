/**
 * The settings of people's accounts at services.
 *
 * @module
 */
import { settingsOf } from "../../core/settings/setting.ts";
import { wholeNumber } from "../../core/settings/shapes.ts";

export const ACCOUNTS = settingsOf({
  ACCOUNT_IDLE_DAYS: {
    words: "After how many days without use an account that a person " +
      "connected is disconnected.",
    shape: wholeNumber("days", 3650, 1),
    default: 90,
  },
});
