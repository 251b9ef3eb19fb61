/** @jsxImportSource @hono/hono/jsx */
/**
 * The page that a person sees after an error: a title for each cause, the next
 * step, and a button if a link leads there.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import {
  HttpError,
  OAuthError,
  type OAuthErrorCode,
  StorageError,
} from "../errors.ts";
import { basePathOf } from "../net/url.ts";
import { CardPage, FactRow, type PageProps } from "./layout.tsx";
import { page } from "./respond.ts";
import {
  ADD_AGAIN,
  endSentence,
  type ErrorWords,
  type RefusedRequest,
  situationWords,
  tryAgain,
} from "./situation_words.ts";

/** Shows what happened, and what to do. */
export function ErrorPage(props: PageProps & ErrorWords) {
  const { happened, move, button, reference } = props;
  return (
    <CardPage {...props}>
      <p class="lead">{happened}</p>
      <dl class="facts">
        <FactRow term="What to do">
          <p>{move}</p>
          {button && (
            <p>
              <a class="button primary" href={button.href}>{button.label}</a>
            </p>
          )}
        </FactRow>
        {reference && (
          <FactRow term="If you report this, quote">
            <code>{reference}</code>
          </FactRow>
        )}
      </dl>
    </CardPage>
  );
}

export function errorPage(
  c: Context,
  error: Error,
  { baseUrl, ...props }: PageProps & {
    baseUrl: string;
    reference: string;
  },
): Response {
  const status = error instanceof OAuthError || error instanceof HttpError
    ? error.status
    : 500;
  const words = errorWords(error, {
    status,
    base: basePathOf(baseUrl),
    method: c.req.method,
    path: c.req.path,
  });
  return page(c, ErrorPage({ ...props, ...words }), { status });
}

export function errorWords(error: Error, refused: RefusedRequest): ErrorWords {
  const isRefusal = error instanceof OAuthError || error instanceof HttpError;
  const words = isRefusal && error.situation
    ? situationWords(
      error instanceof OAuthError ? error.description : error.message,
      refused,
    )[error.situation]
    : causeWords(error, refused);
  const back = error instanceof OAuthError ? error.responseUrl : undefined;
  return back === undefined ? words : { ...words, button: backTo(back) };
}

/**
 * Makes the link that sends an error to the app. Its label says where the link
 * leads.
 */
function backTo(href: string): ErrorWords["button"] {
  const { protocol, host } = new URL(href);
  const place = protocol === "https:" ? host : `its ${protocol} link`;
  return { label: `Go back to the app at ${place}`, href };
}

function causeWords(error: Error, refused: RefusedRequest): ErrorWords {
  const { status, base } = refused;
  if (error instanceof StorageError) {
    return {
      title: "The server's storage does not answer",
      happened: refused.method === "POST"
        ? "What you sent may count all the same: look before you send it again."
        : "Nothing was lost or used up.",
      ...tryAgain(refused),
    };
  }
  if (error instanceof OAuthError && status < 500) return appWords(error);
  const start = { label: "Open the start page", href: `${base}/` };
  switch (status) {
    case 404:
      return {
        title: "There is nothing at this address",
        happened: "It may be mistyped, or its page has gone.",
        move: "Begin at the start page of this server.",
        button: start,
      };
    case 429:
      return {
        title: "Too many requests",
        happened: "More requests came from your network than are allowed in " +
          "a minute.",
        ...tryAgain(refused),
      };
    case 501:
      return {
        title: "No one signs in here",
        happened: "This server runs without signing in.",
        move: "Connect a client without it: the start page says how.",
        button: start,
      };
    case 503:
      return {
        title: "Not available at the moment",
        happened: "Something this server depends on does not answer. " +
          "Nothing was lost or used up.",
        ...tryAgain(refused),
      };
  }
  if (error instanceof HttpError) {
    return {
      title: status === 403
        ? "Not allowed from here"
        : "This request was not understood",
      happened: endSentence(error.message),
      move: "Begin at the start page of this server.",
      button: start,
    };
  }
  return {
    title: "Something went wrong here",
    happened: "The fault is this server's, not yours.",
    move: "Trying again rarely helps: tell the people who run this server.",
    button: start,
  };
}

/** Titles for an app's mistakes, by error code. */
const APP_TITLES: Partial<Record<OAuthErrorCode, string>> = {
  invalid_client: "This server does not know the app",
  invalid_redirect_uri: "The app's address is not allowed here",
  invalid_scope: "The app asks for a permission that does not exist",
  invalid_target: "The app asks for another server",
  unsupported_response_type: "The app asks for an answer of another kind",
  access_denied: "Access was denied",
  interaction_required: "The app asks to go on without you",
};

/** The next step after mistakes that no update of the app would fix. */
const APP_MOVES: Partial<Record<OAuthErrorCode, string>> = {
  invalid_client: ADD_AGAIN,
  invalid_redirect_uri: "The people who run this server must list the host, " +
    "or the scheme, of that address in OAUTH_REDIRECT_HOSTS.",
};

function appWords({ code, description }: OAuthError): ErrorWords {
  return {
    title: APP_TITLES[code] ?? "The app's request is incomplete or wrong",
    happened: endSentence(description),
    move: APP_MOVES[code] ??
      "Update the app and connect again. If it fails again, only the app's " +
        "makers can fix it.",
  };
}
