/**
 * The people of the development provider, which believes any name.
 *
 * @module
 */
import {
  type Identity,
  type Membership,
  MEMBERSHIPS,
} from "../../../caller.ts";
import { parseMembership } from "../../rules/person.ts";
import { parseIdentity } from "../identity.ts";

/** OpenID claims of a person who typed a name. */
interface Person extends Partial<Record<Membership, string[]>> {
  sub: string;
  name: string;
  preferred_username: string;
  email?: string;
  email_verified?: boolean;
}

/** Gives the identity of a person, from a sealed code or token. */
export function identityOf(person: unknown): Identity {
  return parseIdentity({ ...person as Person }, {
    memberships: Object.fromEntries(MEMBERSHIPS.map((kind) => [kind, [kind]])),
  });
}

/** Makes a person from a name; case does not matter for the subject. */
export function makePerson(typed: string, groups?: string): Person {
  const name = typed.normalize("NFC").replaceAll(/\s+/g, " ").trim();
  const sub = name.toLowerCase();
  const mail = /^\S+@\S+$/.test(sub)
    ? { email: sub, email_verified: true }
    : undefined;
  return {
    sub,
    name,
    preferred_username: sub,
    ...mail,
    ...memberships(groups),
  };
}

/** Parses the second field: `admins, role:editor, org:acme`. */
function memberships(typed = ""): Partial<Record<Membership, string[]>> {
  const names = typed.split(",").map((name) => name.trim()).filter(Boolean);
  const found: Partial<Record<Membership, string[]>> = {};
  for (const { kind, name } of names.map(parseMembership)) {
    (found[kind] ??= []).push(name);
  }
  return found;
}
