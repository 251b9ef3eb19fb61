/**
 * A tool's requests to a service. A late 401 is attributed to the key that was
 * sent, not to a newer one.
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
import type { KeyRefusalWatch, OpenedAccount } from "./account_keys.ts";

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
 * request is repeated with a new token.
 *
 * @param renew returns a token to replace the refused one; undefined if there
 * is none
 * @param onAnswer receives the responses after which the request was not
 * repeated
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
