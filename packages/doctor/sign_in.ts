/**
 * Signing in to the server under examination, as a client does. No browser is
 * opened: the address is shown to the person.
 *
 * @module
 */
import { randomId } from "../../src/crypto/crypto.ts";
import { codeChallenge } from "../../src/auth/rules/pkce.ts";
import { register } from "./checks_sign_in.ts";
import { Fault } from "./finding.ts";
import { parseObject, type Site } from "./site.ts";

/** The receiver of the authorization response. */
export interface Receiver {
  /** An address on this machine. */
  readonly redirectUri: string;
  /** Shows the address of the sign-in to the person. */
  show(address: string): void;
  /** The authorization response, once it has arrived. */
  readonly response: Promise<URLSearchParams>;
}

/**
 * Gets an access token for the server's `resource`.
 *
 * @throws {Fault} when the person or the server refuses
 */
export async function signIn(site: Site, receiver: Receiver): Promise<string> {
  const { redirectUri } = receiver;
  const clientId = await register(site, [redirectUri]);
  const { resource, scopes_supported } = await site.resourceMetadata();
  const state = randomId();
  const verifier = randomId();
  const url = new URL(await site.endpoint("authorization"));
  const asked = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: codeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    resource: String(resource),
    ...Array.isArray(scopes_supported) && { scope: scopes_supported.join(" ") },
  };
  for (const [name, value] of Object.entries(asked)) {
    url.searchParams.set(name, value);
  }
  receiver.show(url.href);
  const response = await receiver.response;
  if (response.get("state") !== state) {
    throw new Fault(
      "the authorization response has another state",
      "Return state as it came (RFC 6749 §4.1.2).",
    );
  }
  const code = response.get("code");
  if (code === null) {
    throw new Fault(
      `signing in ended with ${response.get("error")}`,
      "Sign in and approve, or give a token: --token.",
    );
  }
  const target = await site.endpoint("token");
  const { status, text } = await site.send(target, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      code,
      resource: String(resource),
    }),
  });
  const fix = "Answer 200 with access_token (RFC 6749 §5.1).";
  const { access_token } = parseObject(target, text, fix);
  if (status === 200 && typeof access_token === "string") return access_token;
  throw new Fault(`the code is answered ${status}`, fix);
}
