/** @jsxImportSource @hono/hono/jsx */
/**
 * The page at which a browser lands if the client uses this server's own page
 * as its redirect URI. A window that was opened as a popup hands the
 * authorization response to its opener.
 *
 * @module
 */
import { Layout, type PageProps } from "./layout.tsx";
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

/** The contents of the page, and the message it posts. */
interface CallbackProps extends PageProps {
  /** Undefined: the request carried no authorization response. */
  message?: CallbackMessage;
  /**
   * The origins an opener may have: our own and those the operator listed,
   * never `*`. An opener of any other origin, a loopback port among them, gets
   * nothing by message.
   */
  origins: readonly string[];
}

/** The text of the page. The parameters' own words are never shown. */
interface OutcomeInWords {
  title: string;
  words: string;
}

const APPROVED: OutcomeInWords = {
  title: "Almost done",
  words: "You approved, and the app is finishing the connection.",
};
const FAILED: OutcomeInWords = {
  title: "Not connected",
  words: "Signing in did not work. Start again from the app.",
};
const NOTHING: OutcomeInWords = {
  title: "Nothing to see here",
  words: "Apps send people here at the end of signing in. Start from the app.",
};

/** Errors of RFC 6749 §4.1.2.1 that mean something to a person. */
const ERRORS: ReadonlyMap<string, OutcomeInWords> = new Map([
  ["access_denied", {
    title: "Not connected",
    words: "Access was denied, and the app got nothing.",
  }],
  ["temporarily_unavailable", {
    title: "Not connected yet",
    words: "Signing in is not possible at the moment. Try again in a minute.",
  }],
]);

function outcomeOf(message: CallbackMessage | undefined): OutcomeInWords {
  if (message === undefined) return NOTHING;
  if ("code" in message) return APPROVED;
  return ERRORS.get(message.error) ?? FAILED;
}

/** The outcome as text, and an offer to close the window. */
export function CallbackPage(
  { message, origins, ...page }: CallbackProps,
) {
  const { title, words } = outcomeOf(message);
  return (
    <Layout
      {...page}
      title={title}
      script={message && CALLBACK_SCRIPT}
    >
      <main
        class="card"
        data-message={JSON.stringify(message)}
        data-origins={JSON.stringify(origins)}
      >
        <h1>{title}</h1>
        <p class="lead">{words}</p>
        <p>You can close this window and go back to the app.</p>
        <div class="actions" id="offer" hidden>
          <button class="primary" type="button">Close this window</button>
        </div>
      </main>
    </Layout>
  );
}
