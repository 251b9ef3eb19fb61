/**
 * Our clients at the services of tools, and the refresh of people's tokens there.
 *
 * @module
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import type { AccountTokenStore, FoundAccount } from "./account_tokens.ts";
import { type AccountClient, accountClient } from "./account_client.ts";
import type { AccountApplication } from "./account_quirks.ts";
import {
  leasedRefresh,
  type LeasedRefreshOptions,
} from "../../core/provider/leased_refresh.ts";
import { UpstreamError } from "../../core/provider/provider.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import { clientOfKind } from "./service_kind.ts";

/**
 * The minimum time between a refresh that failed and the next one: in one call,
 * both the call and its tool ask for an access token.
 */
const PAUSE_SECONDS = 5;

/** Makes our clients at those services where an application of ours is set. */
export function accountClients(
  server: OpenedServer,
): ReadonlyMap<string, AccountClient> {
  const clients = new Map<string, AccountClient>();
  for (const service of server.services) {
    if (service.kind !== "account") continue;
    const application = applicationAt(service, server);
    const client = service.isMcp
      ? clientOfKind(service, server)
      : application && accountClient(service, application);
    if (client) clients.set(service.name, client);
  }
  return clients;
}

/** Reads our application at a service from the settings. */
export function applicationAt(
  service: OAuthAccount,
  { config: { own } }: Pick<OpenedServer, "config">,
): AccountApplication | undefined {
  const [clientId, clientSecret] = (["CLIENT_ID", "CLIENT_SECRET"] as const)
    .map((what) => own[accountSetting(service, what)] as string | undefined);
  return clientId === undefined ? undefined : { clientId, clientSecret };
}

/**
 * Makes the function that refreshes people's tokens. The function throws
 * {@linkcode UpstreamError}, of the kind `dead` if the person has to connect
 * the account again.
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
        refresh: (...held) => client.refresh(...held),
        async end(cause) {
          await store.end(found);
          return dead(cause);
        },
        // Nothing is written: the clocks of other processes may differ.
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
