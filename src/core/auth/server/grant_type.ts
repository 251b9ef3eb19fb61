/**
 * Grant types that features add to the token endpoint.
 *
 * @module
 */
import type { Client } from "../../oauth/client.ts";
import type { Grant } from "../../oauth/grant.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import type { IssuedTokens } from "../../oauth/token_response.ts";
import type { AuthServices } from "../services.ts";

/** A grant type for which no one sees a page. */
export interface GrantType {
  /** The value of `grant_type`. */
  name: string;
  /**
   * Members that this grant type adds to the authorization server's metadata,
   * besides its name.
   */
  metadata: Readonly<Record<string, unknown>>;
  /** The message of the log line when tokens were issued. */
  signedIn: string;
  /** Issues tokens for a token request of a client. */
  redeem(
    parameters: Parameters,
    client: Client,
    /** True if the client has authenticated. */
    isProven: boolean,
  ): Promise<{ tokens: IssuedTokens; grant: Grant }>;
}

/** Makes a grant type; undefined if the settings allow it to no client. */
export type MakeGrantType = (services: AuthServices) => GrantType | undefined;
