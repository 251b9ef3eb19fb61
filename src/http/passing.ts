/**
 * What goes with a request outside `/mcp`.
 *
 * @module
 */
import type { Address } from "../address.ts";
import type { ConnectionInfo } from "./connection_info.ts";

/** Hono's environment: what comes from the socket, and what handlers add. */
export interface Passing {
  /** From the socket. */
  Bindings: ConnectionInfo;
  /** Added on the way. */
  Variables: {
    /** Where the request came from. */
    address?: Address;
    /** Names the request in the log, and what it may tell of an error. */
    reference: string;
    /** The client, once it is known to exist. */
    clientId?: string;
    /** The grant that tokens were issued of. */
    grantId?: string;
    /** What a request for tokens offers in exchange. */
    grantType?: string;
    /** Why an answer that is no error refuses all the same. */
    refusal?: string;
  };
}
