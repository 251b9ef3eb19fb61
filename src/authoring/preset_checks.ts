/**
 * The checks of the services that `account()` knows by name: each names the
 * account of a token. They are loaded when an account is connected.
 *
 * @module
 */
import type { AccountCheckResult, AccountFetch } from "./account.ts";

// deno-lint-ignore no-explicit-any -- The answers of others: names are checked.
type Json = any;

/**
 * Asks an API for the owner of the account. Returns the response itself if the
 * API refuses.
 */
async function ask(
  fetch: AccountFetch,
  path: string,
  nameIn: (answer: Json) => AccountCheckResult,
  init?: RequestInit,
): Promise<AccountCheckResult> {
  const response = await fetch(path, init);
  return response.ok ? nameIn(await response.json() ?? {}) : response;
}

/**
 * Makes an account's name from its person and, if it has one, its workspace.
 */
function named(person: unknown, place?: unknown): string | undefined {
  const parts = [person, place].filter((it) => typeof it === "string" && it);
  return parts.length > 0 ? parts.join(" at ") : undefined;
}

/**
 * Adds the IDs of the person and the workspace to a name, if all IDs are known:
 * one person or one workspace may have several accounts.
 */
function known(
  label: string | undefined,
  ...ids: unknown[]
): AccountCheckResult {
  return ids.every(Boolean) ? { id: ids.join(" "), label } : label;
}

/** Finds the name and ID of the account at GitHub. */
export function github(fetch: AccountFetch): Promise<AccountCheckResult> {
  return ask(fetch, "/user", ({ id, login }) => known(named(login), id));
}

/** Finds the name and ID of the account at Linear. */
export function linear(fetch: AccountFetch): Promise<AccountCheckResult> {
  return ask(
    fetch,
    "/graphql",
    ({ data }) => {
      const { id, email, organization } = data?.viewer ?? {};
      return known(named(email, organization?.name), id, organization?.id);
    },
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"query":"{ viewer { id email organization { id name } } }"}',
    },
  );
}

/** Finds the name and ID of the account at Notion. */
export function notion(fetch: AccountFetch): Promise<AccountCheckResult> {
  return ask(fetch, "/users/me", ({ bot }) => {
    const { id, person, name } = bot?.owner?.user ?? {};
    const label = named(person?.email ?? name, bot?.workspace_name);
    return known(label, id, bot?.workspace_id);
  }, { headers: { "notion-version": "2022-06-28" } });
}

/** Finds the name and ID of the account at Slack. */
export function slack(fetch: AccountFetch): Promise<AccountCheckResult> {
  return ask(fetch, "/auth.test", ({ ok, user, user_id, team, team_id }) => {
    // Slack refuses with status 200.
    return ok
      ? known(named(user, team), user_id, team_id)
      : new Response(null, { status: 401 });
  });
}
