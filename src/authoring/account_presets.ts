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

/** The name of an account, or the response that refuses. */
type CheckedAccount = string | Response | undefined;

/** The options of a service that is known; its author may replace all of them. */
type Preset = OAuthAccountOptions & { title: string };

// deno-lint-ignore no-explicit-any -- The answers of others: names are checked.
type Json = any;

/** Asks an API who it is; gives the response where that is a refusal. */
async function ask(
  fetch: AccountFetch,
  path: string,
  nameIn: (answer: Json) => CheckedAccount,
  init?: RequestInit,
): Promise<CheckedAccount> {
  const response = await fetch(path, init);
  return response.ok ? nameIn(await response.json() ?? {}) : response;
}

/** Names an account by its person and the place where it is theirs. */
function named(person: unknown, place?: unknown): string | undefined {
  const parts = [person, place].filter((it) => typeof it === "string" && it);
  return parts.length > 0 ? parts.join(" at ") : undefined;
}

export const ACCOUNT_PRESETS: Readonly<Record<AccountPreset, Preset>> = {
  /**
   * Tokens of OAuth apps have no end, and no refresh token.
   *
   * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
   */
  github: {
    title: "GitHub",
    api: "https://api.github.com",
    authorize: "https://github.com/login/oauth/authorize",
    token: "https://github.com/login/oauth/access_token",
    check: (fetch) => ask(fetch, "/user", ({ login }) => named(login)),
  },
  /** @see https://developers.google.com/identity/protocols/oauth2/web-server */
  google: {
    title: "Google",
    api: "https://www.googleapis.com",
    issuer: "https://accounts.google.com",
    scopes: ["openid", "email"],
    // Without both there is a refresh token the first time only.
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
    // Lets people choose one of their workspaces.
    params: { prompt: "consent" },
    check: (fetch) =>
      ask(
        fetch,
        "/graphql",
        ({ data }) =>
          named(data?.viewer?.email, data?.viewer?.organization?.name),
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"query":"{ viewer { email organization { name } } }"}',
        },
      ),
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
   * Notion has no scopes: a person chooses the pages that are shared.
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
    check: (fetch) =>
      ask(fetch, "/users/me", ({ bot }) => {
        const { person, name } = bot?.owner?.user ?? {};
        return named(person?.email ?? name, bot?.workspace_name);
      }, { headers: { "notion-version": "2022-06-28" } }),
  },
  /**
   * The tokens are those of a person, for one workspace.
   *
   * @see https://docs.slack.dev/authentication/installing-with-oauth
   */
  slack: {
    title: "Slack",
    api: "https://slack.com/api",
    authorize: "https://slack.com/oauth/v2_user/authorize",
    token: "https://slack.com/api/oauth.v2.user.access",
    revoke: "https://slack.com/api/auth.revoke",
    check: (fetch) =>
      ask(fetch, "/auth.test", ({ ok, user, team }) => {
        // Slack refuses with status 200.
        return ok ? named(user, team) : new Response(null, { status: 401 });
      }),
  },
};
