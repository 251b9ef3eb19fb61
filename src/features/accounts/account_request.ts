/**
 * A tool's requests to a service. Each keeps the key that it was sent with, so
 * that a late 401 is not blamed on a newer key.
 *
 * @module
 */
import type {
  AccountFetch,
  OAuthAccount,
  PersonalKey,
  UpstreamAccount,
} from "../../authoring/account.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { accountFetch } from "../../core/provider/account_fetch.ts";
import type { OpenedAccount } from "./account_keys.ts";
import type { KeyRefusalWatch } from "./key_refusals.ts";

/**
 * Makes the `fetch` of an account with a pasted key. It records when the
 * service refuses the key.
 */
export function keyFetch(
  service: PersonalKey,
  open: () => MaybePromise<OpenedAccount>,
  refusals: KeyRefusalWatch,
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
 * Makes the `fetch` of an account with an access token. After a 401, the
 * request is sent once more with a new token.
 *
 * @param renew returns a token to replace the refused one; undefined if there
 * is none
 * @param onAnswer receives the responses that were not sent again
 */
export function tokenFetch<O extends Pick<OpenedAccount, "key">>(
  service: OAuthAccount | UpstreamAccount,
  open: () => MaybePromise<O>,
  renew: (used: O) => Promise<string | undefined>,
  onAnswer?: (used: O, answer: Response) => Promise<void>,
): AccountFetch {
  return async (path, init) => {
    let used: O;
    const send = accountFetch(service, async () => (used = await open()).key);
    const response = await send(path, init);
    const isStream = init?.body instanceof ReadableStream;
    const isRefused = response.status === 401;
    const fresh = isRefused && !isStream
      ? await renew(used!).catch(async (error) => {
        await response.body?.cancel();
        throw error;
      })
      : undefined;
    if (fresh === undefined) {
      await onAnswer?.(used!, response);
      return response;
    }
    await response.body?.cancel();
    return await accountFetch(service, () => Promise.resolve(fresh))(
      path,
      init,
    );
  };
}
