/**
 * Our clients at the services of tools, and the refresh of people's tokens there.
 *
 * @module
 */
import type { AccountService, OAuthAccount } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import type { AccountTokenStore, FoundAccount } from "./account_tokens.ts";
import { type AccountClient, accountClient } from "./account_client.ts";
import {
  leasedRefresh,
  type LeasedRefreshOptions,
} from "../../core/provider/leased_refresh.ts";
import { UpstreamError } from "../../core/provider/provider.ts";

/**
 * The least time between a refresh that failed and the next: the tool of a call
 * asks for what its call has just failed to get.
 */
const PAUSE_SECONDS = 5;

/** Makes our clients at those services where an application of ours is set. */
export function accountClients(
  services: Iterable<AccountService>,
  settings: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, AccountClient> {
  const clients = new Map<string, AccountClient>();
  for (const service of services) {
    if (service.kind !== "account") continue;
    const read = (what: Parameters<typeof accountSetting>[1]) =>
      settings[accountSetting(service, what)] as string | undefined;
    const clientId = read("CLIENT_ID");
    if (clientId === undefined) continue;
    const clientSecret = read("CLIENT_SECRET");
    clients.set(
      service.name,
      accountClient(service, { clientId, clientSecret }),
    );
  }
  return clients;
}

/**
 * Makes the refresh of people's tokens. It throws {@linkcode UpstreamError}, of
 * the kind `dead` where their person has to come.
 */
export function accountRefresh(
  store: AccountTokenStore,
  options: LeasedRefreshOptions,
) {
  const { valid } = leasedRefresh<FoundAccount>(store, {
    pauseSeconds: PAUSE_SECONDS,
    ...options,
  });
  return async (
    { name }: OAuthAccount,
    client: AccountClient,
    found: FoundAccount,
    rejected?: string,
  ): Promise<string> => {
    const dead = (cause?: unknown) =>
      new UpstreamError("dead", `${name} takes the tokens no longer`, {
        cause,
      });
    const { tokens } = await valid(
      {
        refresh: (refreshToken) => client.refresh(refreshToken),
        async end(cause) {
          await store.end(found);
          return dead(cause);
        },
        // Nothing is noted: other processes go by their own clocks.
        expired: () => Promise.resolve(dead()),
        gone: dead,
        unavailable: (cause) =>
          cause instanceof UpstreamError
            ? cause
            : new UpstreamError("unavailable", `${name} did not answer`),
        discard: (tokens) => store.discard(found, JSON.stringify(tokens)),
      },
      found,
      { rejected },
    );
    return tokens.accessToken;
  };
}
