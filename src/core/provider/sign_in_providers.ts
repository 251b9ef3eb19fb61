/**
 * The configured sign-in providers, and how to find the one for a person.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import type { Logger } from "../log/log.ts";
import { providerSetting } from "../settings/provider.ts";
import {
  callbackAt,
  type ListedProvider,
  type ListedProviders,
  renameFor,
} from "../settings/providers.ts";
import type { KnownPerson } from "../oauth/grant.ts";
import { lowerAscii } from "../oauth/list_entry.ts";
import type { Provider } from "./provider.ts";
import { type WatchedProvider, watchProvider } from "./reachability.ts";

export interface SignInProvider extends ListedProvider, WatchedProvider {
  /**
   * This server's redirect URI at the provider. Each of several providers has
   * its own, which prevents mix-up attacks (RFC 9700 §4.4.2.2).
   */
  redirectUri: string;
}

export type SignInProviders = ReturnType<typeof signInProviders>;

export function signInProviders(
  { listed, baseUrl, make, log }: {
    listed: ListedProviders;
    baseUrl: string;
    make(listed: ListedProvider): Provider;
    log: Logger;
  },
) {
  const ownerOf = new Map(
    listed.flatMap(({ id, domains }) => domains.map((it) => [it, id] as const)),
  );

  /**
   * True unless the settings assign the address's domain to another provider.
   */
  function mayHave(id: string, address: string): boolean {
    return (ownerOf.get(domainOf(address)) ?? id) === id;
  }

  /**
   * Marks addresses of another provider's domains as unverified.
   * @param id the provider that reports the addresses
   */
  function vouched<T extends Identity>(id: string, identity: T): T {
    const isAnothers = (address: string) => !mayHave(id, address);
    const { email = "", otherEmails = [], unverifiedEmails = [] } = identity;
    const anothers = otherEmails.filter(isAnothers);
    return {
      ...identity,
      ...isAnothers(email) && { emailVerified: false },
      ...anothers.length > 0 && {
        otherEmails: otherEmails.filter((it) => !isAnothers(it)),
        unverifiedEmails: [...unverifiedEmails, ...anothers],
      },
    };
  }

  const all: SignInProvider[] = listed.map((it) => ({
    ...it,
    redirectUri: callbackAt(baseUrl, it.key),
    ...watchProvider(make(it), {
      key: it.key,
      vouched: (identity) => vouched(it.id, identity),
      isOfAnother: (issuer) =>
        all.some(({ id, provider }) =>
          id !== it.id && provider.issuer === issuer
        ),
      mayBeOf: (loginHint) => mayHave(it.id, loginHint),
      onFault: (error) =>
        log.warning(
          it.key === undefined
            ? "No one can sign in: the provider does not answer well"
            : "No one can sign in at one provider: it does not answer well",
          {
            setting: providerSetting(it.config, renameFor(it.key)),
            provider: it.key,
            error,
          },
        ),
    }),
  }));
  return {
    all,
    /** The names of all providers in a sentence, as in `Google or GitHub`. */
    name: new Intl.ListFormat("en-GB", { type: "disjunction" })
      .format(all.map(({ provider }) => provider.name)),
    /**
     * Finds a provider by its name in `OAUTH_PROVIDER`; undefined finds the
     * only one.
     */
    find: (key: string | undefined) => all.find((it) => it.key === key),
    /**
     * Finds the provider where a person signed in; undefined if it was removed.
     */
    of: ({ provider }: Pick<KnownPerson, "provider">) =>
      all.find(({ id }) => id === provider),
    /**
     * Returns the only provider. If there are several, the one that is
     * responsible for the address's domain. Undefined if the person has to
     * choose.
     */
    forAddress(address = ""): SignInProvider | undefined {
      if (all.length === 1) return all[0];
      const id = address.includes("@") && ownerOf.get(domainOf(address));
      return all.find((it) => it.id === id);
    },
    vouched,
  };
}

function domainOf(address: string): string {
  return lowerAscii(address.slice(address.lastIndexOf("@") + 1));
}
