/**
 * Pages of a server that need a sign-in at the provider of their own. It uses
 * the same redirect URIs at the provider as the authorization server.
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
  /**
   * True if a provider's callback belongs to a sign-in that began on these
   * pages.
   */
  isReturning(c: Context): boolean;
  /** Completes such a sign-in. */
  finish(c: Context): Promise<Response>;
  /** Lists the credentials that the request of such a callback presents. */
  shown: ListShown;
  /** Finds the person who is signed in to these pages in a browser. */
  find(c: Context): Promise<KnownPerson | undefined>;
  /** Lists the accounts that a person has at services. */
  accountsOf(
    subject: string,
  ): Promise<readonly { service: string; createdAt: number }[]>;
}

/** @param limit middleware with the rate limit of networks */
export type MakeSignedInPages = (
  services: AuthServices,
  limit: MiddlewareHandler,
) => SignedInPages;
