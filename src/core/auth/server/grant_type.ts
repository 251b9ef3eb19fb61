/**
 * Grant types that features add to the token endpoint.
 *
 * @module
 */
import type { Client } from "../../oauth/client.ts";
import type { Grant } from "../../oauth/grant.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import type { IssuedTokens } from "../../oauth/refresh_token.ts";
import type { AuthServices } from "../services.ts";

/** A grant type without a page for a person. */
export interface GrantType {
  /** The value of `grant_type`. */
  name: string;
  /**
   * Members of the authorization server's metadata, besides the grant type's
   * name.
   */
  metadata: Readonly<Record<string, unknown>>;
  /** The log message after issuing tokens. */
  signedIn: string;
  /** Issues tokens for a client's token request. */
  redeem(
    parameters: Parameters,
    client: Client,
    /** True if the client has authenticated, not only sent its ID. */
    isProven: boolean,
  ): Promise<{ tokens: IssuedTokens; grant: Grant }>;
}

/** Makes a grant type; undefined if the settings allow it for no client. */
export type MakeGrantType = (services: AuthServices) => GrantType | undefined;
