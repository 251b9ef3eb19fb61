/**
 * Our OAuth clients at the services that tools need, and the refresh of
 * people's tokens.
 *
 * @module
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import type { AccountTokens, AccountTokenStore } from "./account_tokens.ts";
import { type AccountClient, accountClient } from "./account_client.ts";
import type { AccountApplication } from "./account_quirks.ts";
import {
  leasedRefresh,
  type LeasedRefreshOptions,
} from "../../core/provider/leased_refresh.ts";
import { UpstreamError } from "../../core/provider/provider.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import { mcpClientOf } from "./mcp_accounts.ts";

/**
 * The minimum seconds between a failed refresh and the next. The preparation of
 * a call and then its tool may both ask for a token, but only one of them sends
 * a request.
 */
const PAUSE_SECONDS = 5;

/** Makes our OAuth clients at all services with client settings. */
export function accountClients(
  server: OpenedServer,
): ReadonlyMap<string, AccountClient> {
  const clients = new Map<string, AccountClient>();
  for (const service of server.services) {
    if (service.kind !== "account") continue;
    const application = applicationAt(service, server);
    const client = service.isMcp
      ? mcpClientOf(service, server)
      : application && accountClient(service, application);
    if (client) clients.set(service.name, client);
  }
  return clients;
}

export function applicationAt(
  service: OAuthAccount,
  { config: { own } }: Pick<OpenedServer, "config">,
): AccountApplication | undefined {
  const [clientId, clientSecret] = (["CLIENT_ID", "CLIENT_SECRET"] as const)
    .map((what) => own[accountSetting(service, what)] as string | undefined);
  return clientId === undefined ? undefined : { clientId, clientSecret };
}

/**
 * Makes the function that refreshes people's tokens. It throws an {@linkcode
 * UpstreamError} of kind `dead` if the person has to connect the account again.
 */
export function accountRefresh(
  store: AccountTokenStore,
  options: LeasedRefreshOptions,
) {
  const { valid } = leasedRefresh<AccountTokens>(store, {
    pauseSeconds: PAUSE_SECONDS,
    ...options,
  });
  return async (
    { name }: OAuthAccount,
    client: AccountClient,
    found: AccountTokens,
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
        // The expired tokens stay stored: the clock of this process may be
        // wrong.
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
