/**
 * An entry in a list of people of the settings `OAUTH_ALLOWED_USERS`,
 * `OAUTH_ADMINS`, `OAUTH_BLOCKED` and `OAUTH_PERMISSIONS`. It matches people or
 * a client.
 *
 * @module
 */
import type { Membership } from "../caller.ts";
import { isDocumentId, isSealedClientId, shortClientId } from "./client.ts";
import { membershipName, membershipPrefix, parseMembership } from "./person.ts";
import { idOfSubject, MACHINE_ID, subjectOf } from "./subject.ts";

/** The people or the client that an entry matches. */
export type ListEntry =
  | { kind: "everyone" }
  /** One person by their subject at this server, such as `github:583231`. */
  | { kind: "subject"; subject: string }
  /** A verified e-mail address, in lower case. */
  | { kind: "address"; address: string }
  /** A domain of e-mail addresses with its `@`, in lower case. */
  | { kind: "domain"; domain: string }
  /**
   * The members of a group. With several providers, `provider` may name one.
   */
  | { kind: Membership; name: string; provider?: string }
  /** A client by its short ID. */
  | { kind: "client"; clientId: string };

/** The kinds of entries that only some lists accept. */
export type ListKind = "everyone" | "membership" | "client";

export interface ListEntryOptions {
  /** The kinds that this list accepts besides people. */
  takes?: readonly ListKind[];
  /** The advice for an entry with a group, if the list accepts none. */
  groupFix?: string;
}

/** The names of providers, issuers and clients that entries may use. */
export interface KnownNames {
  providers: readonly {
    id: string;
    /**
     * The provider's name in `OAUTH_PROVIDER`; undefined for the only provider.
     */
    key?: string;
    kind: string;
    /** True if people of any tenant may sign in. Anyone can make a tenant. */
    isForEveryTenant?: boolean;
  }[];
  /** The prefixes of the subjects of other issuers' people. */
  otherIds: readonly string[];
  clientIds: readonly string[];
}

/** An entry that matches no one, with advice. */
export class EntryError extends Error {
  /** @param why the reason, as the end of a sentence */
  constructor(readonly why: string, readonly fix: string) {
    super(`${why}. ${fix}`);
  }
}

/**
 * Providers that identify people by numbers, with the number's name and an
 * example.
 */
const NUMBERED: Readonly<Record<string, readonly [string, string]>> = {
  github: ["the number of an account, not its name", "583231"],
  gitlab: ["the number of an account, not its name", "42"],
  google: ["the number of an account", "110169484474386276334"],
};

/** Matches a name that was probably meant to be a domain. */
const LIKE_A_DOMAIN = /^(\*\.)?[a-z\d-]+(\.[a-z\d-]+)*\.[a-z]{2,}$/i;

/**
 * Parses an entry of a list.
 *
 * @throws {EntryError} if it cannot match anyone
 */
export function parseListEntry(
  text: string,
  known: KnownNames,
  { takes = [], groupFix }: ListEntryOptions = {},
): ListEntry {
  if (text === "*") {
    if (takes.includes("everyone")) return { kind: "everyone" };
    throw new EntryError(
      "* is no one's name",
      "Name people one by one, or leave the setting unset",
    );
  }
  if (text.startsWith(`${MACHINE_ID}:`)) {
    return parseClient(text.slice(MACHINE_ID.length + 1), known, takes);
  }
  const provider = known.providers.find(({ key }) =>
    key !== undefined && text.startsWith(`${key}/`)
  );
  const rest = provider ? text.slice(provider.key!.length + 1) : text;
  const membership = parseMembership(rest);
  if (membership.isPrefixed) {
    return checkMembership(membership, provider, known, { takes, groupFix });
  }
  const id = idOfSubject(text, idsOf(known));
  if (id !== undefined) {
    checkName(text.slice(id.length + 1), id, known);
    return { kind: "subject", subject: text };
  }
  if (text.includes("@")) return parseAddress(text);
  return parseOwnName(text, known);
}

/**
 * Converts only A to Z to lower case. `toLowerCase` would turn the Kelvin sign
 * into a k.
 */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function parseClient(
  clientId: string,
  { clientIds }: KnownNames,
  takes: readonly ListKind[],
): ListEntry {
  if (!takes.includes("client")) {
    throw new EntryError(
      "a client is not a person",
      "Clients have their scopes in OAUTH_CLIENTS, and are blocked by " +
        "OAUTH_BLOCKED",
    );
  }
  const isClient = /^[\w-]{22}$/.test(clientId) ||
    isSealedClientId(clientId) || isDocumentId(clientId) ||
    clientIds.includes(clientId);
  if (isClient) return { kind: "client", clientId: shortClientId(clientId) };
  throw new EntryError(
    "no client has this ID",
    "Copy it from /account or the log: client: and the ID of an entry of " +
      "OAUTH_CLIENTS, the address of a metadata document, or 22 characters",
  );
}

function checkMembership(
  { kind, name }: { kind: Membership; name: string },
  provider: KnownNames["providers"][number] | undefined,
  { providers }: KnownNames,
  { takes = [], groupFix }: ListEntryOptions,
): ListEntry {
  const entry = `${membershipPrefix(kind)}:${name}`;
  const written = provider ? `${provider.key}/${entry}` : entry;
  if (!takes.includes("membership")) {
    throw new EntryError(
      "this list is of people, not of groups",
      groupFix ??
        "Say it in OAUTH_PERMISSIONS, where who has no entry gets nothing: " +
          `OAUTH_PERMISSIONS=${written}=*`,
    );
  }
  if (!provider && providers.length > 1) {
    throw new EntryError(
      "it does not say which provider's it is",
      `Use ${providers.map(({ key }) => `${key}/${entry}`).join(" or ")}`,
    );
  }
  return {
    kind,
    name: membershipName(kind, name),
    ...provider && { provider: provider.id },
  };
}

function parseAddress(text: string): ListEntry {
  const [, name, domain] = /^([^@]*)(@[^@]+)$/.exec(lowerAscii(text)) ?? [];
  if (domain === undefined) {
    throw new EntryError(
      "it is neither an address nor a domain",
      "Use jo@example.com, or @example.com for everyone there",
    );
  }
  if (text.includes("*")) {
    throw new EntryError(
      "a * stands for nothing here",
      `Use ${domain.replaceAll(/\*\.?/g, "")} for everyone of exactly that ` +
        "domain; each subdomain is an entry of its own",
    );
  }
  return name === ""
    ? { kind: "domain", domain }
    : { kind: "address", address: name + domain };
}

/** Parses an entry without a prefix as a person's name at the only provider. */
function parseOwnName(text: string, known: KnownNames): ListEntry {
  const { providers: [provider, ...others] } = known;
  if (text.includes(":")) {
    const ids = idsOf(known);
    const begins = ids.includes(text)
      ? `${text}, and no more`
      : /^.*[:#]/s.exec(text)![0];
    const hint = ids.some((id) => id.includes("/"))
      ? "; in .env a value with # goes between two '"
      : "";
    throw new EntryError(
      `no one here has a subject that begins with ${begins}`,
      "Subjects begin with " +
        ids.map((id) => subjectOf(id, { subject: "" })).join(" or ") + hint,
    );
  }
  const namedAt = (those: typeof known.providers) =>
    [...new Set(those.map(({ id }) => subjectOf(id, { subject: text })))]
      .join(" or ");
  if (LIKE_A_DOMAIN.test(text)) {
    const domain = text.replace(/^\*\./, "");
    const named = namedAt(
      known.providers.filter(({ kind }) => !(kind in NUMBERED)),
    );
    throw new EntryError(
      "a domain has an @ before it",
      `Use @${domain} for everyone of that domain` +
        (named && `, or ${named} for a person of that name`),
    );
  }
  if (others.length > 0) {
    throw new EntryError(
      "it does not say at which provider",
      `Use ${namedAt(known.providers)}`,
    );
  }
  checkName(text, provider.id, known);
  const subject = subjectOf(provider.id, { subject: text });
  return { kind: "subject", subject };
}

function idsOf({ providers, otherIds }: KnownNames): string[] {
  return [...new Set([...providers.map(({ id }) => id), ...otherIds])];
}

/** Checks a person's name at a provider. @throws {EntryError} */
function checkName(name: string, id: string, { providers }: KnownNames): void {
  const { kind = "" } = providers.find((provider) => provider.id === id) ?? {};
  if (!Object.hasOwn(NUMBERED, kind)) {
    if (name !== "") return;
    throw new EntryError(
      "no name follows the issuer",
      `Use ${subjectOf(id, { subject: "NAME" })}`,
    );
  }
  if (/^\d+$/.test(name)) return;
  const [wanted, example] = NUMBERED[kind];
  throw new EntryError(
    `a subject of OAUTH_PROVIDER=${kind} is ${wanted}`,
    `Use ${id}:${example} as /account and the log print it, or a ` +
      "verified e-mail address",
  );
}
