/**
 * The requests of a tool at a service. Each remembers what it was sent with, as
 * others run at the same time: a late refusal says nothing of a newer key.
 *
 * @module
 */
import type {
  AccountFetch,
  OAuthAccount,
  PersonalKey,
} from "../../authoring/account.ts";
import { accountFetch } from "../../http/account_fetch.ts";
import type { Context } from "../../authoring/context.ts";
import type { AccountKeys, OpenedAccount } from "./account_keys.ts";
import type { KeyRefusals } from "./key_refusals.ts";

/** Makes the bound `fetch` with a pasted key, whose refusals are noted. */
export function keyFetch(
  service: PersonalKey,
  open: () => Promise<OpenedAccount>,
  refusals: KeyRefusals,
): AccountFetch {
  return (path, init) => {
    let used: OpenedAccount;
    const send = accountFetch(service, async () => (used = await open()).key, {
      onStatus: (status) => refusals.note(used.found, status),
    });
    return send(path, init);
  };
}

/**
 * Makes the bound `fetch` with an access token, which sends again what an old
 * token has lost.
 */
export function tokenFetch(
  service: OAuthAccount,
  open: () => Promise<OpenedAccount>,
  keys: AccountKeys,
  context: Pick<Context, "signal">,
): AccountFetch {
  return async (path, init) => {
    let used: OpenedAccount;
    const send = accountFetch(service, async () => (used = await open()).key);
    const response = await send(path, init);
    const isStream = init?.body instanceof ReadableStream;
    if (response.status !== 401 || isStream) return response;
    const fresh = await keys.renew(service, used!, context.signal);
    if (fresh === undefined) return response;
    await response.body?.cancel();
    return await accountFetch(service, () => Promise.resolve(fresh))(
      path,
      init,
    );
  };
}
