/**
 * An endpoint without the server around it.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";

/** Gives an endpoint's answer; for an error its message. */
export async function answerOf(
  endpoint: (c: Context) => Promise<Response>,
  path: string,
  init?: RequestInit,
): Promise<Response> {
  const app = new Hono();
  app.all("/", endpoint);
  app.onError(({ message }, c) => c.text(message, 500));
  return await app.request(path, init);
}

/** Refuses a client after all concurrent reads have failed. */
export function refuseLate(): Promise<never> {
  return new Promise((_, reject) =>
    setTimeout(() => reject(new Error("Who are you?")), 0)
  );
}
