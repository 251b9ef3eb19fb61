/**
 * The values that accompany a request outside `/mcp`.
 *
 * @module
 */
import type { Address } from "../net/address.ts";
import type { ConnectionInfo } from "./client_address.ts";

/** Hono's environment: values of the socket, and values that handlers add. */
export interface Passing {
  /** Values of the socket. */
  Bindings: ConnectionInfo;
  /** Values that handlers add. */
  Variables: {
    address?: Address;
    /** The request's name in the log; a page about an error may show it. */
    reference: string;
    /** The client, once it is known to exist. */
    clientId?: string;
    /** The grant of the issued tokens. */
    grantId?: string;
    /** The grant type of a token request. */
    grantType?: string;
    /** The reason of an answer that is no error but still a refusal. */
    refusal?: string;
  };
}
