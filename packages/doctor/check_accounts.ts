/**
 * The check of people's accounts at other services.
 *
 * @module
 */
import type { Check } from "./check.ts";
import { Fault } from "./finding.ts";
import { readReady } from "./ready.ts";

/**
 * Checks that a server whose tools need people's accounts can store their keys.
 */
export const ACCOUNTS_CHECK: Check = {
  name: "People's accounts at other services (everyone)",
  async run(site) {
    const { accounts, missing } = await readReady(site, "if tools need them");
    if (accounts !== "off") return "no tool needs them, or they are kept";
    const names = Array.isArray(missing) ? missing.map(String) : [];
    if (names.length === 0 || names.includes("SECRETS_KEYS")) {
      throw new Fault(
        "tools need them, and the server has no key to keep them with",
        "Set SECRETS_KEYS to what `openssl rand -base64 32` prints" +
          (names.includes("AUTH_STRATEGY")
            ? ", and AUTH_STRATEGY=oauth."
            : "."),
      );
    }
    if (names.includes("AUTH_STRATEGY")) {
      throw new Fault(
        "tools need them, and no one can sign in",
        "Set AUTH_STRATEGY=oauth.",
      );
    }
    if (names.some((name) => name.startsWith("OAUTH_"))) {
      throw new Fault(
        "tools act at a service behind the sign-in provider, which gives no " +
          "token for it",
        `Do what the start of the server says of ${names.join(" and ")}.`,
      );
    }
    throw new Fault(
      "tools act at services where this server is not registered",
      `Register an application there, with ${site.base}/connect/SERVICE/callback ` +
        `as its redirect URI, and set ${names.join(" and ")}.`,
    );
  },
};
