/**
 * Adds the operators' parts to the account page.
 *
 * @module
 */
import type { AccountPageAddition } from "../account_page/account_pages.ts";
import {
  attemptsPart,
  clientsPart,
  durablePart,
  peoplePart,
} from "./operator_parts.ts";

const addition: AccountPageAddition = {
  parts: (services) => [
    peoplePart(services),
    clientsPart(services),
    attemptsPart(services),
    durablePart(services),
  ],
};

export default addition;
