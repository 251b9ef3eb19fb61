/** @jsxImportSource @hono/hono/jsx */
/**
 * Where a browser lands that used this server's own page as its redirect URI.
 * A window that was opened as a popup hands the authorization response to its
 * opener.
 *
 * @module
 */
import { Layout } from "./layout.tsx";
import { CALLBACK_SCRIPT } from "./scripts.ts";

/** An authorization response (RFC 6749 §4.1.2) as its opener gets it. */
export type CallbackMessage =
  | { type: "oauth_callback"; code: string; state?: string }
  | {
    type: "oauth_callback";
    error: string;
    error_description?: string;
    state?: string;
  };

/** What the page shows and posts. */
export interface CallbackProps {
  /** `MCP_TITLE`. */
  serverTitle: string;
  message: CallbackMessage;
  /**
   * The origins an opener may have: our own and those the operator listed,
   * never `*`. Whoever opens this window from elsewhere, a loopback port
   * among them, gets nothing by message.
   */
  origins: readonly string[];
}

/** RFC 6749 §4.1.2.1 in a person's words; the parameters' own are never shown. */
const ERRORS: Readonly<Record<string, [title: string, words: string]>> = {
  access_denied: ["Not connected", "Access was denied. Nothing was shared."],
  temporarily_unavailable: [
    "Not connected yet",
    "Signing in is not possible at the moment. Try again in a minute.",
  ],
};

const OTHER_ERROR: [string, string] = [
  "Not connected",
  "Signing in did not work. Start again from the app.",
];

/** The outcome in words, and an offer to close the window. */
export function CallbackPage({ serverTitle, message, origins }: CallbackProps) {
  const [title, words] = "code" in message
    ? ["Almost done", "You approved, and the app is finishing the connection."]
    : Object.hasOwn(ERRORS, message.error)
    ? ERRORS[message.error]
    : OTHER_ERROR;
  return (
    <Layout title={title} serverTitle={serverTitle} script={CALLBACK_SCRIPT}>
      <main
        class="card"
        data-message={JSON.stringify(message)}
        data-origins={JSON.stringify(origins)}
      >
        <h1>{title}</h1>
        <p class="lead">{words}</p>
        <p>You can close this window and go back to the app.</p>
        <div class="actions">
          <button class="primary" type="button" id="close" hidden>
            Close this window
          </button>
        </div>
      </main>
    </Layout>
  );
}
