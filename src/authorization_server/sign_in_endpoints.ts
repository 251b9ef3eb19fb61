/**
 * What a client meets on its way to a token.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Gate } from "../gates/gate.ts";

/** Answers one route. */
export type Endpoint = (c: Context) => Response | Promise<Response>;

/** What a client meets on its way to a token, in that order. */
export interface SignInEndpoints {
  protectedResourceMetadata: Endpoint;
  authorizationServerMetadata: Endpoint;
  register: Endpoint;
  authorize: Endpoint;
  consent: Endpoint;
  providerCallback: Endpoint;
  token: Endpoint;
  revoke: Endpoint;
  account: Endpoint;
  accountSignIn: Endpoint;
  accountSignOut: Endpoint;
  accountEnd: Endpoint;
  accountPause: Endpoint;
  accountResume: Endpoint;
  accountNarrow: Endpoint;
  accountTokens: Endpoint;
}

/** Strategies at work. */
export interface SignIn {
  /** In front of `/mcp`, unless a comparison is enough to know a caller. */
  gate?: Gate;
  /** They exist under every strategy. */
  endpoints: SignInEndpoints;
  /** Ends background work, after the last request. */
  close?(): Promise<void>;
}
