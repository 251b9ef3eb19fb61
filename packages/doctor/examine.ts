/**
 * Runs the checks of a server, one after the other.
 *
 * @module
 */
import type { Store } from "./check.ts";
import { ACCOUNTS_CHECK } from "./check_accounts.ts";
import { APPROVALS_CHECK } from "./check_approvals.ts";
import { REACH_CHECKS } from "./checks_reach.ts";
import { REGISTRATION_CHECKS } from "./checks_registration.ts";
import { SIGN_IN_CHECKS } from "./checks_sign_in.ts";
import { STORE_CHECKS } from "./checks_store.ts";
import { Fault, type Finding, Skipped } from "./finding.ts";
import { Site, type SiteOptions } from "./site.ts";

export interface ExamineOptions extends SiteOptions {
  /** The directories whose reviewers will look at the server. */
  stores?: readonly Store[];
}

/** The requirements of any client, in the order in which it meets them. */
const CHECKS = [
  ...REACH_CHECKS,
  ...SIGN_IN_CHECKS,
  ACCOUNTS_CHECK,
  ...REGISTRATION_CHECKS,
];

export async function* examine(
  url: string,
  { stores = [], ...options }: ExamineOptions = {},
): AsyncGenerator<Finding> {
  const site = new Site(url, options);
  const reported = new Map<Fault, string>();
  for (const { name, run } of CHECKS) {
    const finding = await examineOne(name, () => run(site), reported);
    yield finding;
    // If nothing answers, nothing more can be checked.
    if (name === "Health" && finding.result === "failed") return;
    // If a server has no sign-in, the checks of the sign-in are omitted.
    const { result, cause } = finding;
    if (/^Challenge/.test(name) && result === "skipped" && !cause) break;
  }
  yield await examineOne(
    APPROVALS_CHECK.name,
    () => APPROVALS_CHECK.run(site),
    reported,
  );
  for (const { name, stores: whose, run } of STORE_CHECKS) {
    const asked = whose.filter((store) => stores.includes(store));
    if (asked.length === 0) continue;
    const label = `${name} (${asked.map((it) => STORE_NAMES[it]).join(", ")})`;
    yield await examineOne(label, () => run(site), reported);
  }
}

const STORE_NAMES: Readonly<Record<Store, string>> = {
  claude: "Claude's directory",
  chatgpt: "ChatGPT's directory",
};

async function examineOne(
  name: string,
  run: () => string | Promise<string>,
  told: Map<Fault, string>,
): Promise<Finding> {
  try {
    return { name, result: "ok", found: await run() };
  } catch (error) {
    if (error instanceof Skipped) {
      return { name, result: "skipped", found: error.message };
    }
    if (!(error instanceof Fault)) throw error;
    const { found, fix, result } = error;
    // Several checks use the same answers and faults, but a fault is reported
    // once.
    const cause = told.get(error);
    if (cause !== undefined) {
      return {
        name,
        result: "skipped",
        found: `needs what failed: ${found}`,
        cause,
      };
    }
    told.set(error, name);
    return { name, result, found, fix };
  }
}
