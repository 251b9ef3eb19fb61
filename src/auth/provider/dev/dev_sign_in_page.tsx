/** @jsxImportSource @hono/hono/jsx */
/**
 * The page on which a person tells the development provider their name.
 *
 * @module
 */
import { Layout } from "../../../pages/layout.tsx";

/** A sign-in at the development provider. */
interface DevSignInProps {
  /** `MCP_TITLE`. */
  serverTitle: string;
  /** The address that the form is sent to. */
  action: string;
  /** The authorization request, sent along with the name. */
  fields: Readonly<Record<string, string>>;
}

/** A form with the text fields `name` and, optionally, `groups`. */
export function DevSignInPage(
  { serverTitle, action, fields }: DevSignInProps,
) {
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
          {Object.entries(fields).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
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
