/** @jsxImportSource @hono/hono/jsx */
/**
 * `GET /oauth/callback`: the page at which a browser arrives if the client uses
 * this server's page as its redirect URI. A window that was opened as a popup
 * passes the authorization response to its opener.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { OperatorInfo } from "../../authoring/about.ts";
import type { Config } from "../settings/config.ts";
import { Layout, type PageProps } from "./layout.tsx";
import { page } from "./respond.ts";
import { CALLBACK_SCRIPT } from "./scripts.ts";

/** An authorization response, as the opener of the window gets it. */
interface CallbackMessage {
  type: "oauth_callback";
  code?: string;
  state?: string;
  error?: string;
  error_description?: string;
}

/**
 * Parses an authorization response (RFC 6749 §4.1.2); undefined for anything
 * else. A repeated parameter makes it invalid (RFC 6749 §3.1).
 */
export function parseResponse(
  parameters: URLSearchParams,
): CallbackMessage | undefined {
  const known = ["code", "state", "error", "error_description"] as const;
  const [code, state, error, error_description] = known.map((name) =>
    parameters.get(name) ?? undefined
  );
  if (known.some((name) => parameters.getAll(name).length > 1)) return;
  const type = "oauth_callback";
  if (error !== undefined) return { type, error, error_description, state };
  return code === undefined ? undefined : { type, code, state };
}

interface CallbackProps extends PageProps {
  /** The authorization response; undefined if the request had none. */
  message?: CallbackMessage;
  /** The accepted origins of the opener, never `*`. */
  origins: readonly string[];
}

/** The title and the text for an outcome, without text from the request. */
type OutcomeInWords = readonly [title: string, words: string];

/** The error codes of RFC 6749 §4.1.2.1 that a person can understand. */
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
  if (message.error === undefined) {
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

/** Shows the outcome as text, and a button to close the window. */
export function CallbackPage({ message, origins, ...page }: CallbackProps) {
  const [title, words] = outcomeOf(message);
  return (
    <Layout
      {...page}
      title={title}
      scripts={message ? [CALLBACK_SCRIPT] : []}
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

/**
 * Makes the handler of the page. The page shows the outcome of an authorization
 * request. It sends the response to its opener, if the opener has this server's
 * origin or one of `ALLOWED_ORIGINS`. Loopback origins are not accepted,
 * because a port does not tell whose page it is.
 */
export function callbackHandler(
  { config: { title: serverTitle, allowedOrigins }, about, baseUrl }: {
    config: Config;
    about?: OperatorInfo;
    baseUrl: string;
  },
): (c: Context) => Response {
  const origins = [baseUrl, ...allowedOrigins.filter((item) => item !== "*")];
  return (c) => {
    const message = parseResponse(new URL(c.req.url).searchParams);
    return page(c, CallbackPage({ serverTitle, about, message, origins }), {
      status: message ? 200 : 400,
    });
  };
}
