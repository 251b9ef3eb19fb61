/**
 * Adds the operators' parts to the account page.
 *
 * @module
 */
import type { AccountAddition } from "../account_page/account_pages.ts";
import {
  attemptsPart,
  clientsPart,
  durablePart,
  peoplePart,
} from "./operator_parts.ts";

const addition: AccountAddition = {
  parts: (services) => [
    peoplePart(services),
    clientsPart(services),
    attemptsPart(services),
    durablePart(services),
  ],
};

export default addition;
