/**
 * An endpoint without the server around it.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";

/** What it answers; an error is its message. */
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

/** Knows no client, and says so after all that was read meanwhile has failed. */
export function refuseLate(): Promise<never> {
  return new Promise((_, reject) =>
    setTimeout(() => reject(new Error("Who are you?")), 0)
  );
}
