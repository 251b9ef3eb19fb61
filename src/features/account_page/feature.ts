/**
 * `/account`: the pages on which people see and end what they have allowed.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import type { AccountAddition } from "./account_pages.ts";

/** @param additions loads what other features add, in the order of the page */
export function accountPageFeature(
  additions: readonly (() => Promise<{ default: AccountAddition }>)[],
): Feature {
  return {
    name: "account_page",
    open: (server) => ({
      async records() {
        const { accountSessionsOf } = await import("./account_sessions.ts");
        const { listOf, closeAllOf } = accountSessionsOf(server);
        return { name: "accountSessions", listOf, endAllOf: closeAllOf };
      },
    }),
    async signedInPages() {
      const [{ accountPage }, ...added] = await Promise.all([
        import("./account.ts"),
        ...additions.map((load) => load()),
      ]);
      return accountPage(added.map(({ default: addition }) => addition));
    },
  };
}
