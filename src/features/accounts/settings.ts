import { settingsOf } from "../../core/settings/setting.ts";
import { wholeNumber } from "../../core/settings/shapes.ts";

export const ACCOUNTS = settingsOf({
  ACCOUNT_IDLE_DAYS: {
    words: "The days without use after which a person's account is " +
      "disconnected.",
    shape: wholeNumber("days", 3650, 1),
    default: 90,
  },
});
