/**
 * A provider whose requests are measured for telemetry.
 *
 * @module
 */
import { telemetry } from "../../telemetry/current.ts";
import { type Provider, UpstreamError } from "./provider.ts";

/** Makes an observed version of a provider. */
export function observedProvider(provider: Provider): Provider {
  const observe = <T>(verb: string, call: () => Promise<T>): Promise<T> =>
    telemetry ? telemetry.providerCall(verb, call, kindOf) : call();
  return {
    name: provider.name,
    get apiUrl() {
      return provider.apiUrl;
    },
    authorizationUrl: (request) =>
      observe("authorization_url", () => provider.authorizationUrl(request)),
    redeem: (response) => observe("redeem", () => provider.redeem(response)),
    refresh: (refreshToken) =>
      observe("refresh", () => provider.refresh(refreshToken)),
    identify: provider.identify &&
      ((tokens) => observe("identify", () => provider.identify!(tokens))),
    isAlive: provider.isAlive &&
      ((accessToken) =>
        observe("is_alive", () => provider.isAlive!(accessToken))),
    look: provider.look && (() => observe("look", () => provider.look!())),
    revoke: provider.revoke &&
      ((tokens) => observe("revoke", () => provider.revoke!(tokens))),
  };
}

function kindOf(error: unknown): string {
  return error instanceof UpstreamError ? error.kind : "_OTHER";
}
