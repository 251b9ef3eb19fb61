/**
 * The services that `account()` knows by name.
 *
 * @module
 */
import type { AccountFetch, OAuthAccountOptions } from "./account.ts";

/** The name of a service that `account()` knows. */
export type AccountPreset =
  | "github"
  | "google"
  | "linear"
  | "microsoft"
  | "notion"
  | "slack";

/** The options of a known service, which an author may override. */
type Preset = OAuthAccountOptions & { title: string };

/**
 * Makes the `check` of a preset, which loads preset_checks.ts when it is
 * called.
 */
function checkBy(name: keyof typeof import("./preset_checks.ts")) {
  return async (fetch: AccountFetch) =>
    await (await import("./preset_checks.ts"))[name](fetch);
}

export const ACCOUNT_PRESETS: Readonly<Record<AccountPreset, Preset>> = {
  /**
   * Tokens of OAuth apps do not expire, and have no refresh token.
   *
   * @see
   * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
   */
  github: {
    title: "GitHub",
    api: "https://api.github.com",
    authorize: "https://github.com/login/oauth/authorize",
    token: "https://github.com/login/oauth/access_token",
    check: checkBy("github"),
  },
  /** @see https://developers.google.com/identity/protocols/oauth2/web-server */
  google: {
    title: "Google",
    api: "https://www.googleapis.com",
    issuer: "https://accounts.google.com",
    scopes: ["openid", "email"],
    // Without both, Google gives a refresh token the first time only.
    params: { access_type: "offline", prompt: "consent select_account" },
  },
  /** @see https://linear.app/developers/oauth-2-0-authentication */
  linear: {
    title: "Linear",
    api: "https://api.linear.app",
    authorize: "https://linear.app/oauth/authorize",
    token: "https://api.linear.app/oauth/token",
    revoke: "https://api.linear.app/oauth/revoke",
    scopes: ["read"],
    // Linear then asks people which of their workspaces they mean.
    params: { prompt: "consent" },
    check: checkBy("linear"),
  },
  /** @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow */
  microsoft: {
    title: "Microsoft",
    api: "https://graph.microsoft.com/v1.0",
    issuer: "https://login.microsoftonline.com/common/v2.0",
    scopes: ["openid", "profile", "email", "offline_access"],
    params: { prompt: "select_account" },
  },
  /**
   * Notion has no scopes: a person chooses the pages to share.
   *
   * @see https://developers.notion.com/docs/authorization
   */
  notion: {
    title: "Notion",
    api: "https://api.notion.com/v1",
    authorize: "https://api.notion.com/v1/oauth/authorize",
    token: "https://api.notion.com/v1/oauth/token",
    revoke: "https://api.notion.com/v1/oauth/revoke",
    params: { owner: "user" },
    check: checkBy("notion"),
  },
  /**
   * The tokens belong to a person, in one workspace.
   *
   * @see https://docs.slack.dev/authentication/installing-with-oauth
   */
  slack: {
    title: "Slack",
    api: "https://slack.com/api",
    authorize: "https://slack.com/oauth/v2_user/authorize",
    token: "https://slack.com/api/oauth.v2.user.access",
    revoke: "https://slack.com/api/auth.revoke",
    check: checkBy("slack"),
  },
};
