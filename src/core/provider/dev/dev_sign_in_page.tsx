/** @jsxImportSource @hono/hono/jsx */
/**
 * The sign-in page of the development provider, and the identity made from the
 * name that a person types there.
 *
 * @module
 */
import { HiddenFields, Layout } from "../../pages/layout.tsx";
import { type Identity, type Membership, MEMBERSHIPS } from "../../caller.ts";
import { parseMembership } from "../../oauth/person.ts";
import { parseIdentity } from "../identity.ts";

interface DevSignInProps {
  serverTitle: string;
  action: string;
  /** The parameters of the authorization request, as hidden fields. */
  fields: Readonly<Record<string, string>>;
}

/** Shows a form with the text fields `name` and, optionally, `groups`. */
export function DevSignInPage({ serverTitle, action, fields }: DevSignInProps) {
  return (
    <Layout title="Development sign-in" serverTitle={serverTitle}>
      <main class="card development">
        <p>
          <span class="badge warn">Development only</span>
        </p>
        <h1>Sign in as anyone</h1>
        <p class="lead">
          No password, no check: this stand-in for a provider believes whatever
          you type. It runs on this machine only, and never on a deployed
          server.
        </p>
        <form method="post" action={action}>
          <HiddenFields of={Object.entries(fields)} />
          <label for="name">A name, or an e-mail address</label>
          <input
            id="name"
            name="name"
            type="text"
            required
            maxlength={100}
            autocomplete="off"
            autofocus
          />
          <label for="groups">
            Groups, if permissions are to be tried: admins, role:editor,
            org:acme, team:acme/dev
          </label>
          <input
            id="groups"
            name="groups"
            type="text"
            maxlength={1000}
            autocomplete="off"
          />
          <div class="actions">
            <button class="primary" type="submit">Sign in</button>
            <button type="submit" name="cancel" value="1" formnovalidate>
              Cancel
            </button>
          </div>
        </form>
      </main>
    </Layout>
  );
}

/** OpenID claims made from a typed name. */
interface PersonClaims extends Partial<Record<Membership, string[]>> {
  sub: string;
  name: string;
  preferred_username: string;
  email?: string;
  email_verified?: boolean;
}

/** Parses the identity from the claims in a decrypted code or token. */
export function identityOf(person: unknown): Identity {
  return parseIdentity({ ...person as PersonClaims }, {
    memberships: Object.fromEntries(MEMBERSHIPS.map((kind) => [kind, [kind]])),
  });
}

/** Makes claims from a name. Upper and lower case give the same subject. */
export function makePersonClaims(typed: string, groups?: string): PersonClaims {
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

/**
 * Parses the memberships that a person typed: `admins, role:editor, org:acme`.
 */
function memberships(typed = ""): Partial<Record<Membership, string[]>> {
  const names = typed.split(",").map((name) => name.trim()).filter(Boolean);
  const found: Partial<Record<Membership, string[]>> = {};
  for (const { kind, name } of names.map(parseMembership)) {
    (found[kind] ??= []).push(name);
  }
  return found;
}
