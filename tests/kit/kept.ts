/**
 * The whole table of what is kept about a person, with the rows of all features.
 *
 * @module
 */
import { keptData } from "../../src/features/account_page/kept_data.ts";
import accounts from "../../src/features/accounts/on_account_page.ts";
import approvals from "../../src/features/approvals/on_account_page.ts";
import ledger from "../../src/features/ledger/on_account_page.ts";
import questions from "../../src/features/questions/on_account_page.ts";
import work from "../../src/features/work/on_account_page.ts";

export const KEPT_DATA = keptData([
  ledger,
  work,
  questions,
  approvals,
  accounts,
]);
