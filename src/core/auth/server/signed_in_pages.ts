/**
 * Pages of the server behind a sign-in of their own at the provider. This
 * sign-in shares its callback address with the authorization server.
 *
 * @module
 */
import type { Context, Hono, MiddlewareHandler } from "@hono/hono";
import type { AppEnv } from "../../http/client_address.ts";
import type { KnownPerson } from "../../oauth/grant.ts";
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
  /** Finds the person who is signed in at a browser. */
  find(c: Context): Promise<KnownPerson | undefined>;
  /** Lists the accounts that a person has at services. */
  accountsOf(
    subject: string,
  ): Promise<readonly { service: string; createdAt: number }[]>;
}

/** @param limit the rate of requests, counted by network */
export type MakeSignedInPages = (
  services: AuthServices,
  limit: MiddlewareHandler,
) => SignedInPages;
