/**
 * Refusals of our application at a service, which only an operator can end.
 *
 * @module
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import type { UpstreamError } from "../../core/provider/provider.ts";

/** Codes of services that do not know our application, or its secret. */
const CODES = [
  "invalid_client",
  "unauthorized_client",
  // Codes of GitHub and Slack.
  "incorrect_client_credentials",
  "invalid_client_id",
  "bad_client_secret",
];

/** Gives the setting to look at, for the log, if our application was refused. */
export function settingRefused(
  service: Pick<OAuthAccount, "name">,
  { code = "" }: UpstreamError,
): { setting?: string } {
  return CODES.includes(code)
    ? { setting: accountSetting(service, "CLIENT_SECRET") }
    : {};
}
