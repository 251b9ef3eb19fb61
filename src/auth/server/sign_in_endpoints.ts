/**
 * The endpoints between a client and its token.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Gate } from "../doors/gate.ts";

/** Answers one route. */
export type Endpoint = (c: Context) => Response | Promise<Response>;

/** The endpoints that a client uses on its way to a token, in that order. */
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

/** The gate and the endpoints of the chosen strategies. */
export interface SignIn {
  /** The gate of `/mcp`, unless a comparison is enough to know a caller. */
  gate?: Gate;
  /** The endpoints, which exist under every strategy. */
  endpoints: SignInEndpoints;
  /** Ends background work, after the last request. */
  close?(): Promise<void>;
}
