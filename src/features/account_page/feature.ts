/**
 * `/account`: the pages on which people see and end their connections.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import type { AccountPageAddition } from "./account_pages.ts";

export interface OnAccountPage extends Feature {
  accountPage(): Promise<{ default: AccountPageAddition }>;
}

export const accountPageFeature: Feature = {
  name: "account_page",
  open: (server) => ({
    async records() {
      const { accountSessionsOf } = await import("./account_sessions.ts");
      return accountSessionsOf(server);
    },
  }),
  async signedInPages(features) {
    const [{ accountPage }, ...added] = await Promise.all([
      import("./account.ts"),
      ...features.flatMap((it: Feature & Partial<OnAccountPage>) =>
        it.accountPage?.() ?? []
      ),
    ]);
    return accountPage(added.map(({ default: addition }) => addition));
  },
};
