/**
 * A grant type of the token endpoint that a feature adds.
 *
 * @module
 */
import type { Client } from "../../oauth/client.ts";
import type { Grant } from "../../oauth/grant.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import type { IssuedTokens } from "../../oauth/token_response.ts";
import type { AuthServices } from "../services.ts";

/** A grant type without a page. */
export interface GrantType {
  /** The value of `grant_type`. */
  name: string;
  /** Members of the server's metadata besides `grant_types_supported`. */
  metadata: Readonly<Record<string, unknown>>;
  /** The words of the log when tokens were issued. */
  signedIn: string;
  /** Redeems a token request of a client. */
  redeem(
    parameters: Parameters,
    client: Client,
    /** True if the client has authenticated. */
    isProven: boolean,
  ): Promise<{ tokens: IssuedTokens; grant: Grant }>;
}

/** Makes a grant type; undefined if the settings allow it to no one. */
export type MakeGrantType = (services: AuthServices) => GrantType | undefined;
