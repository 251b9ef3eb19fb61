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

/** The title and the words for an outcome; never the parameters' own. */
type OutcomeInWords = readonly [title: string, words: string];

/** Errors of RFC 6749 §4.1.2.1 that mean something to a person. */
const ERRORS: ReadonlyMap<string, OutcomeInWords> = new Map([
  ["access_denied", [
    "Not connected",
    "Access was denied, and the app got nothing.",
  ]],
  ["temporarily_unavailable", [
    "Not connected yet",
    "Signing in is not possible at the moment. Try again in a minute.",
  ]],
]);

function outcomeOf(message: CallbackMessage | undefined): OutcomeInWords {
  if (message === undefined) {
    return [
      "Nothing to see here",
      "Apps send people here at the end of signing in. Start from the app.",
    ];
  }
  if ("code" in message) {
    return [
      "Almost done",
      "You approved, and the app is finishing the connection.",
    ];
  }
  return ERRORS.get(message.error) ?? [
    "Not connected",
    "Signing in did not work. Start again from the app.",
  ];
}

/** The outcome as text, and an offer to close the window. */
export function CallbackPage(
  { message, origins, ...page }: CallbackProps,
) {
  const [title, words] = outcomeOf(message);
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
