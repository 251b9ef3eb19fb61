/**
 * Signing in to the server under examination, as a client does. No browser is
 * opened: the address is shown to the person.
 *
 * @module
 */
import { SignIn } from "../client/mod.ts";
import { Fault, Skipped } from "./finding.ts";
import type { Site } from "./site.ts";

/** The receiver of the authorization response. */
export interface Receiver {
  /** An address on this machine. */
  readonly redirectUri: string;
  /** Shows the address of the sign-in to the person. */
  show(address: string): void;
  /** Waits for the authorization response that has this `state`. */
  response(state: string): Promise<URLSearchParams>;
}

/**
 * Gets an access token for the server's `resource`.
 *
 * @throws {Fault} when the person or the server refuses
 */
export async function signIn(site: Site, receiver: Receiver): Promise<string> {
  const { fetch, mcp: url } = site;
  try {
    const request = await SignIn.begin({
      url,
      metadataUrl: await site.resourceMetadataUrl(),
      redirectUri: receiver.redirectUri,
      clientName: "Doctor",
      fetch,
    });
    receiver.show(request.url);
    const response = await receiver.response(request.state);
    return (await SignIn.finish(request, response, fetch)).accessToken;
  } catch (error) {
    if (error instanceof Fault || error instanceof Skipped) throw error;
    throw new Fault(
      `signing in fails: ${(error as Error).message}`,
      "Sign in and approve, or give a token: --token.",
    );
  }
}
