/**
 * The check that the server's sign-in provider answers it.
 *
 * @module
 */
import { pause } from "../../src/clock.ts";
import { isObject } from "../../src/json.ts";
import { parseObject } from "./answer.ts";
import type { Check } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Site } from "./site.ts";

/** A server gives up its provider after ten seconds. */
const PROVIDER_LOOKS = 44;
const PROVIDER_PAUSE_MILLISECONDS = 250;

/** The state of the sign-in providers, as the server tells it. */
export const PROVIDER_CHECK: Check = {
  name: "Sign-in provider (everyone)",
  async run(site) {
    const states = Object.entries(await askForProviders(site));
    const worst = ["misbehaved", "unavailable", "ok"]
      .find((state) => states.some(([, is]) => is === state));
    // The only one has no name.
    const who = states.filter(([name, is]) => name && is === worst)
      .map(([name]) => `${name}: `).join("");
    const there = who && " there";
    switch (worst) {
      case "ok":
        return `${who}answers the server; ending at /account tells it nothing`;
      case "unavailable":
        throw new Fault(
          `${who}does not answer the server, so no one can sign in${there}`,
          "Look for “No one can sign in” in the server's log: it names the " +
            "setting and the reason. Check OAUTH_PROVIDER and OAUTH_ISSUER, " +
            "and that the machine reaches that address (DNS, firewall, " +
            "HTTPS_PROXY).",
        );
      case "misbehaved":
        throw new Fault(
          `${who}answers the server with what is no sign-in, so no one ` +
            `can${there}`,
          "Check OAUTH_ISSUER: “No one can sign in” in the server's log " +
            "says what it found there.",
        );
    }
    throw new Skipped("the server does not tell how its provider is");
  },
};

/**
 * Asks the server for the states of its providers, until it knows them; the only
 * one has no name.
 */
async function askForProviders(site: Site): Promise<Record<string, unknown>> {
  for (let left = PROVIDER_LOOKS;; left--) {
    const { status, text } = await site.send(`${site.base}/ready`);
    // Nothing of ours, or told already.
    if (status !== 200 || !text.startsWith("{")) return {};
    const { provider, providers = { "": provider } } = parseObject(
      "/ready",
      text,
      "Answer with JSON.",
    );
    const states = isObject(providers) ? providers : {};
    const isKnown = !Object.values(states).includes("unknown");
    if (isKnown || left === 0) return states;
    await pause(PROVIDER_PAUSE_MILLISECONDS);
  }
}
