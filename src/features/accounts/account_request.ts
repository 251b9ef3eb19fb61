/**
 * A tool's requests to a service, and the account through which it sends them.
 * A late 401 is attributed to the key that was sent, not to a newer one.
 *
 * @module
 */
import {
  type Account,
  type AccountFetch,
  type AccountService,
  type OAuthAccount,
  type PersonalKey,
  titleOf,
  type UpstreamAccount,
} from "../../authoring/account.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { ToolError } from "../../authoring/tool.ts";
import type { BoundedRequest } from "../../core/caller.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";
import type { ToolFetchOptions } from "../../core/net/bounded_answer.ts";
import { isSafeMethod } from "../../core/net/send_once.ts";
import {
  accountFetch,
  MAY_HAVE_SUCCEEDED,
  mayHaveSucceeded,
} from "../../core/provider/account_fetch.ts";
import type { KeyRefusalWatch, OpenedAccount } from "./account_keys.ts";

/** The options of a request to a service. */
export type AccountRequest = BoundedRequest & ToolFetchOptions;

/** The requests of a call that may change something at a service. */
export class ActingRequests {
  /**
   * @param mayHaveActed true once such a request was given a key; from the
   * beginning in durable work of which an earlier run has begun, perhaps in
   * another process
   */
  constructor(public mayHaveActed = false) {}

  /**
   * Opens an account for a request, or for no request.
   *
   * @throws {ToolError} which says if an earlier request may have succeeded
   */
  open<T>(
    opening: () => MaybePromise<T>,
    init: AccountRequest | undefined,
  ): MaybePromise<T> {
    const { isSafe = isSafeMethod(init?.method) } = init ?? {};
    const opened = (value: T) => {
      if (!isSafe) this.mayHaveActed = true;
      return value;
    };
    const failed = (error: unknown) => {
      throw this.mayHaveActed ? mayHaveSucceeded(error) : error;
    };
    try {
      const value = opening();
      return value instanceof Promise
        ? value.then(opened, failed)
        : opened(value);
    } catch (error) {
      return failed(error);
    }
  }
}

/** Makes the error of a call whose account was disconnected during it. */
export function gone(
  service: AccountService,
  mayHaveActed = false,
): ToolError {
  const next = mayHaveActed
    ? `. ${MAY_HAVE_SUCCEEDED}`
    : ": call the tool again.";
  return new ToolError(`${titleOf(service)} is not connected any more${next}`);
}

/** Makes the `fetch` of a service without accounts. */
export function openFetch(
  service: AccountService,
  requests: ActingRequests,
): AccountFetch {
  return (path, init) => {
    const reveal = async () => await requests.open(() => undefined, init);
    return accountFetch(service, reveal)(path, init);
  };
}

/**
 * Makes the `fetch` of an account with a pasted key. It records when the
 * service refuses the key.
 */
export function keyFetch(
  service: PersonalKey,
  open: (init?: AccountRequest) => MaybePromise<OpenedAccount>,
  refusals: KeyRefusalWatch,
): AccountFetch {
  return (path, init) => {
    let used: OpenedAccount;
    const send = accountFetch(
      service,
      async () => (used = await open(init)).key,
      {
        onStatus: (status) => refusals.note(used.found, status),
      },
    );
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
  open: (init?: AccountRequest) => MaybePromise<O>,
  renew: (used: O) => Promise<string | undefined>,
  onAnswer?: (used: O, answer: Response) => Promise<void>,
): AccountFetch {
  return async (path, init) => {
    let used: O;
    const send = accountFetch(
      service,
      async () => (used = await open(init)).key,
    );
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

/**
 * The account through which a tool uses a service. A class, because V8 keeps
 * each object literal with a getter, and the call behind it, until the old
 * generation is collected.
 */
export class FoundAccount implements Account {
  readonly fetch: Account["fetch"];
  readonly reveal: Account["reveal"];
  /** The words for `callApi`'s errors. */
  readonly title: string;
  /** The keys that `callApi` hides in errors. */
  readonly given: GivenKeys;
  readonly #label: () => string | undefined;

  constructor(
    { fetch, reveal, title, given }: Omit<FoundAccount, "label">,
    label: () => string | undefined,
  ) {
    this.fetch = fetch;
    this.reveal = reveal;
    this.title = title;
    this.given = given;
    this.#label = label;
  }

  get label(): string | undefined {
    return this.#label();
  }
}
