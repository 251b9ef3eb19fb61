/**
 * Runs the `check` that an author wrote for a service's keys or tokens. Time
 * and size are limited, because the check reads the service's responses.
 *
 * @module
 */
import type {
  AccountFetch,
  ConnectableService,
} from "../../authoring/account.ts";
import { pause } from "../../core/clock.ts";
import { accountFetch } from "../../core/provider/account_fetch.ts";

/** The maximum duration of a check, in milliseconds. */
const CHECK_MILLISECONDS = 10_000;

/** The maximum size of one response to a check, in decoded bytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Runs the `check` of a service, and returns its result as `told`. Undefined
 * after the time limit. If the result is a response, its body is cancelled.
 *
 * @param signal aborts the check
 */
export async function checkAccount(
  service: ConnectableService,
  key: string,
  signal?: AbortSignal,
): Promise<{ told: unknown } | undefined> {
  const send = accountFetch(service, () => Promise.resolve(key));
  const done = new AbortController();
  const over = AbortSignal.any(signal ? [done.signal, signal] : [done.signal]);
  const bound: AccountFetch = async (path, init) => {
    const signals = init?.signal ? [over, init.signal] : [over];
    const signal = AbortSignal.any(signals);
    return await send(path, { ...init, signal, maxBytes: MAX_ANSWER_BYTES });
  };
  const check = async () => {
    const told = await service.check!(bound);
    if (told instanceof Response) await told.body?.cancel();
    return { told };
  };
  const late = pause(CHECK_MILLISECONDS, over).then(() => undefined);
  try {
    return await Promise.race([check(), late]);
  } finally {
    // Ends the requests that the check still waits for.
    done.abort();
  }
}
