/**
 * The whole table of what is kept about a person, with the rows of all features.
 *
 * @module
 */
import {
  keptData,
  type KeptUnder,
} from "../../src/features/account_page/kept_data.ts";
import { parseConfig } from "../../src/core/settings/config.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import { FEATURES } from "../../src/features.ts";
import accounts from "../../src/features/accounts/on_account_page.ts";
import approvals from "../../src/features/approvals/on_account_page.ts";
import ledger from "../../src/features/ledger/on_account_page.ts";
import questions from "../../src/features/questions/on_account_page.ts";
import work from "../../src/features/work/on_account_page.ts";
import { GITHUB } from "./settings.ts";

/** Gives what the table depends on, under some settings. */
export function keptUnder(env: Environment): KeptUnder {
  const { auth, features } = parseConfig({ ...GITHUB, ...env }, {
    features: FEATURES,
  });
  const { lifetimes, ledgerDays } = auth.oauth!;
  return { lifetimes, ledgerDays, features };
}

export const KEPT_DATA = keptData([
  ledger,
  work,
  questions,
  approvals,
  accounts,
]);
