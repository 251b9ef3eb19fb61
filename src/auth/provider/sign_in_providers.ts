/**
 * The providers that people sign in at, by the ways in which they are found.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";
import type { ListedProviders } from "../../settings/providers.ts";
import { isPersonOf, type KnownPerson } from "../rules/grant.ts";
import { lowerAscii } from "../rules/list_entry.ts";
import type { Provider } from "./provider.ts";

export interface SignInProvider {
  /** The prefix that keeps its subjects apart from another's. */
  id: string;
  /** Its name in addresses and forms; undefined: it is the only one. */
  key?: string;
  /**
   * Our callback address there. Each of several has its own, so that the answer
   * of one is never taken for another's (RFC 9700 §4.4.2.2).
   */
  redirectUri: string;
  provider: Provider;
}

export type SignInProviders = ReturnType<typeof signInProviders>;

export const CALLBACK_PATH = "/oauth/provider-callback";

export function callbackAt(baseUrl: string, key?: string): string {
  const address = `${baseUrl}${CALLBACK_PATH}`;
  return key === undefined ? address : `${address}/${key}`;
}

export function signInProviders(
  { listed, baseUrl, make }: {
    listed: ListedProviders;
    baseUrl: string;
    make(listed: ListedProviders[number]): Provider;
  },
) {
  const ownerOf = new Map(
    listed.flatMap(({ id, domains }) => domains.map((it) => [it, id] as const)),
  );

  /**
   * Marks an address that only another provider can vouch for as unverified.
   *
   * @param id the prefix of the issuer that names the address
   */
  function vouched(id: string, identity: Identity): Identity {
    const isAnothers = (address: string) =>
      (ownerOf.get(domainOf(address)) ?? id) !== id;
    const { email = "", otherEmails } = identity;
    return {
      ...identity,
      ...isAnothers(email) && { emailVerified: false },
      ...otherEmails?.some(isAnothers) &&
        { otherEmails: otherEmails.filter((it) => !isAnothers(it)) },
    };
  }

  /** Makes a provider that cannot vouch for addresses of another. */
  function withOwnAddresses(id: string, provider: Provider): Provider {
    if (ownerOf.size === 0) return provider;
    return {
      ...provider,
      get apiUrl() {
        return provider.apiUrl;
      },
      async redeem(response) {
        const { tokens, identity } = await provider.redeem(response);
        return { tokens, identity: vouched(id, identity) };
      },
      identify: provider.identify && (async (tokens) => {
        const identity = await provider.identify!(tokens);
        return identity && vouched(id, identity);
      }),
    };
  }

  const all = listed.map((it): SignInProvider => ({
    id: it.id,
    key: it.key,
    redirectUri: callbackAt(baseUrl, it.key),
    provider: withOwnAddresses(it.id, make(it)),
  }));
  return {
    all,
    /** Their names, as in a sentence: `Google or GitHub`. */
    name: namesOf(all.map(({ provider }) => provider.name)),
    ids: all.map(({ id }) => id),
    /** Finds the one with a name in the list, without one the only one. */
    at: (key: string | undefined) => all.find((it) => it.key === key),
    /** Finds the one that a person signed in at, if it is still listed. */
    of: (person: KnownPerson) => all.find(({ id }) => isPersonOf(person, id)),
    /** Finds the only one, or that of an address; else the person chooses. */
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

function namesOf(names: readonly string[]): string {
  return names.length < 2
    ? names.join()
    : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
