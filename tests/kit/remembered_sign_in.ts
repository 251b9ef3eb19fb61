/**
 * The memory of the SDK's client while a person signs in, and afterwards.
 *
 * @module
 */

/** An `OAuthClientProvider` that keeps everything in memory. */
export class RememberedSignIn {
  redirectUrl = "http://localhost:7777/callback";
  clientMetadata = {
    redirect_uris: [this.redirectUrl],
    client_name: "A client",
    token_endpoint_auth_method: "none",
  };
  /** The address that the person must open next. */
  sentTo?: URL;
  // deno-lint-ignore no-explicit-any
  kept: any = {};
  state = () => "state";
  clientInformation = () => this.kept.client;
  saveClientInformation = (client: unknown) => void (this.kept.client = client);
  tokens = () => this.kept.tokens;
  saveTokens = (tokens: unknown) => void (this.kept.tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.sentTo = url);
  saveCodeVerifier = (verifier: string) => void (this.kept.verifier = verifier);
  codeVerifier = () => this.kept.verifier;
  saveDiscoveryState = (state: unknown) => void (this.kept.discovery = state);
  discoveryState = () => this.kept.discovery;
}
