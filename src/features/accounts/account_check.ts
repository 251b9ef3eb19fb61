/**
 * A service's own check of a key or a token (`check`), within bounds of time and
 * size: its answers come from elsewhere.
 *
 * @module
 */
import type {
  AccountFetch,
  ConnectableService,
} from "../../authoring/account.ts";
import { ToolError } from "../../authoring/tool.ts";
import { pause } from "../../core/clock.ts";
import { accountFetch, titleOf } from "./account_fetch.ts";

/** The time in which a check must be done, in milliseconds. */
const CHECK_MILLISECONDS = 10_000;

/** The most bytes of one answer, decoded: more than any account needs. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Runs the check of a service that has one. Returns what it gave, with a
 * response's body ended; undefined if it was not done in time.
 *
 * @param signal ends the check early, as if its time were over
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
    const sent = { ...init, signal: AbortSignal.any(signals) };
    return bounded(await send(path, sent), titleOf(service));
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
    // Requests that the check still waits for end with it.
    done.abort();
  }
}

/** Bounds the body of an answer, whose reader gets an error after too much. */
function bounded(response: Response, title: string): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  let bytes = 0;
  const counting = new TransformStream<
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>
  >({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= MAX_ANSWER_BYTES) return controller.enqueue(chunk);
      throw new ToolError(
        `${title} answered with more than ${MAX_ANSWER_BYTES} bytes.`,
      );
    },
  });
  return new Response(body.pipeThrough(counting), {
    status,
    statusText,
    headers,
  });
}
