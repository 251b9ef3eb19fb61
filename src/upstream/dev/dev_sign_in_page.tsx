/** @jsxImportSource @hono/hono/jsx */
/**
 * Where a person says who they are to the development provider.
 *
 * @module
 */
import { Layout } from "../../pages/layout.tsx";

/** A sign-in at the development provider. */
export interface DevSignInProps {
  /** `MCP_TITLE`. */
  serverTitle: string;
  /** Where the form is sent. */
  action: string;
  /** The authorization request, sent along with the name. */
  fields: Readonly<Record<string, string>>;
}

/** One form with one text field, `name`. */
export function DevSignInPage(
  { serverTitle, action, fields }: DevSignInProps,
) {
  return (
    <Layout title="Sign in" serverTitle={serverTitle}>
      <main class="card">
        <h1>Sign in</h1>
        <p class="lead">
          This is the development provider. It believes whatever you type, and
          serves this machine only.
        </p>
        <form method="post" action={action}>
          {Object.entries(fields).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <label for="name">Your name, or an e-mail address</label>
          <input
            id="name"
            name="name"
            type="text"
            required
            maxlength={100}
            autocomplete="off"
            autofocus
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
