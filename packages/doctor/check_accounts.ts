/**
 * The check of people's accounts at other services.
 *
 * @module
 */
import { parseObject } from "./answer.ts";
import type { Check } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";

/** The people's accounts that tools need, as the server tells of them. */
export const ACCOUNTS_CHECK: Check = {
  name: "People's accounts at other services (everyone)",
  async run(site) {
    const { status, text } = await site.send(`${site.base}/ready`);
    if (status !== 200 || !text.startsWith("{")) {
      throw new Skipped("the server does not tell if tools need them");
    }
    const { accounts } = parseObject("/ready", text, "Answer with JSON.");
    if (accounts !== "off") return "no tool needs them, or they are kept";
    throw new Fault(
      "tools need them, and the server has no key to keep them with",
      "Set SECRETS_KEYS to what `openssl rand -base64 32` prints.",
    );
  },
};
