/**
 * Recognizes that a service refused our client credentials, which only an
 * operator can correct.
 *
 * @module
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import type { UpstreamError } from "../../core/provider/provider.ts";

const CODES = [
  "invalid_client",
  "unauthorized_client",
  // Codes of GitHub and Slack.
  "incorrect_client_credentials",
  "invalid_client_id",
  "bad_client_secret",
];

/**
 * Returns the setting that the operator has to correct, if the service refused
 * our client credentials.
 */
export function settingRefused(
  service: Pick<OAuthAccount, "name">,
  { code = "" }: UpstreamError,
): { setting?: string } {
  return CODES.includes(code)
    ? { setting: accountSetting(service, "CLIENT_SECRET") }
    : {};
}
