/**
 * The interface of pages with their own sign-in at the provider, such as the
 * account page. They share the authorization server's redirect URIs.
 * @module
 */
import type { Context, Hono, MiddlewareHandler } from "@hono/hono";
import type { AppEnv } from "../../http/client_address.ts";
import type { KnownPerson } from "../../oauth/grant.ts";
import type { ListCredentials } from "../../http/rate_limit.ts";
import type { AuthServices } from "../services.ts";

export interface SignedInPages {
  app: Hono<AppEnv>;
  /**
   * True if a redirect from the provider belongs to a sign-in on these pages.
   */
  isReturning(c: Context): boolean;
  /** Completes a sign-in on these pages. */
  finish(c: Context): Promise<Response>;
  /** Lists the credentials in a redirect from the provider, for the rate limit. */
  shown: ListCredentials;
  /** Finds the person who is signed in to these pages in this browser. */
  find(c: Context): Promise<KnownPerson | undefined>;
  /** Lists a person's accounts at other services. */
  accountsOf(
    subject: string,
  ): Promise<readonly { service: string; createdAt: number }[]>;
}

/** @param limit the middleware that limits each network's requests */
export type MakeSignedInPages = (
  services: AuthServices,
  limit: MiddlewareHandler,
) => SignedInPages;
