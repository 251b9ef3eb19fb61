/**
 * The checks of the services that `account()` knows by name: each names the
 * account of a token. They are loaded when an account is connected.
 *
 * @module
 */
import type { AccountFetch } from "./account.ts";

/** The name of an account, or the response that refuses. */
type CheckedAccount = string | Response | undefined;

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

/** Names the account at GitHub. */
export function github(fetch: AccountFetch): Promise<CheckedAccount> {
  return ask(fetch, "/user", ({ login }) => named(login));
}

/** Names the account at Linear. */
export function linear(fetch: AccountFetch): Promise<CheckedAccount> {
  return ask(
    fetch,
    "/graphql",
    ({ data }) => named(data?.viewer?.email, data?.viewer?.organization?.name),
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"query":"{ viewer { email organization { name } } }"}',
    },
  );
}

/** Names the account at Notion. */
export function notion(fetch: AccountFetch): Promise<CheckedAccount> {
  return ask(fetch, "/users/me", ({ bot }) => {
    const { person, name } = bot?.owner?.user ?? {};
    return named(person?.email ?? name, bot?.workspace_name);
  }, { headers: { "notion-version": "2022-06-28" } });
}

/** Names the account at Slack. */
export function slack(fetch: AccountFetch): Promise<CheckedAccount> {
  return ask(fetch, "/auth.test", ({ ok, user, team }) => {
    // Slack refuses with status 200.
    return ok ? named(user, team) : new Response(null, { status: 401 });
  });
}
