/**
 * The part of calls on the account page.
 *
 * @module
 */
import type { AccountAddition } from "../account_page/account_pages.ts";
import { callsPart } from "./calls_part.ts";

const addition: AccountAddition = {
  parts: ({ ledger, ...services }) =>
    ledger ? [callsPart({ ...services, ledger })] : [],
};

export default addition;
