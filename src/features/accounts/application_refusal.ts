/**
 * Refusals of our application at a service, which only an operator can end.
 *
 * @module
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import type { UpstreamError } from "../../core/provider/provider.ts";

/**
 * Error codes with which services refuse an unknown application, or its secret.
 */
const CODES = [
  "invalid_client",
  "unauthorized_client",
  // Codes of GitHub and Slack.
  "incorrect_client_credentials",
  "invalid_client_id",
  "bad_client_secret",
];

/**
 * Returns the setting to look at, for the log, if the service refused our
 * application.
 */
export function settingRefused(
  service: Pick<OAuthAccount, "name">,
  { code = "" }: UpstreamError,
): { setting?: string } {
  return CODES.includes(code)
    ? { setting: accountSetting(service, "CLIENT_SECRET") }
    : {};
}
