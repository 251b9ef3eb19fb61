/**
 * The parts of the account page for operators: everyone's connections, clients
 * and long work.
 *
 * @module
 */
import type { OnAccountPage } from "../account_page/feature.ts";

export const operatorsFeature: OnAccountPage = {
  name: "operators",
  accountPage: () => import("./on_account_page.ts"),
};
