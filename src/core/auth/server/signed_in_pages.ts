/**
 * Pages of the server behind a sign-in of their own at the provider, which has
 * the callback of the authorization server.
 *
 * @module
 */
import type { Context, Hono, MiddlewareHandler } from "@hono/hono";
import type { AppEnv } from "../../http/client_address.ts";
import type { ListShown } from "../../http/rate_limit.ts";
import type { AuthServices } from "../services.ts";

export interface SignedInPages {
  app: Hono<AppEnv>;
  /** True if a callback ends a sign-in that began on these pages. */
  isReturning(c: Context): boolean;
  /** Answers such a callback. */
  finish(c: Context): Promise<Response>;
  /** Lists the credentials that such a callback shows. */
  shown: ListShown;
}

/** @param limit the rate of requests, counted by network */
export type MakeSignedInPages = (
  services: AuthServices,
  limit: MiddlewareHandler,
) => SignedInPages;
