/**
 * The operators' parts of the account page: all people's connections, clients
 * and durable work.
 *
 * @module
 */
import type { OnAccountPage } from "../account_page/feature.ts";

export const operatorsFeature: OnAccountPage = {
  name: "operators",
  accountPage: () => import("./on_account_page.ts"),
};
