/**
 * The text of a refusal for the person who meets it: a title for each cause,
 * the next step, and one button if a link leads on.
 *
 * @module
 */
import {
  HttpError,
  OAuthError,
  type OAuthErrorCode,
  type Situation,
  StorageError,
} from "../errors.ts";
import type { ErrorProps } from "./error_page.tsx";

/** Everything a page says about an error. */
type ErrorWords = Pick<
  ErrorProps,
  "title" | "happened" | "move" | "button" | "reference"
>;

/** The request that was refused. */
export interface RefusedRequest {
  status: number;
  /** Path of the public address; empty at a root. */
  base: string;
  method: string;
  path: string;
}

/**
 * Writes the text about an error. An advice in the error itself comes first.
 */
export function wordsFor(error: Error, refused: RefusedRequest): ErrorWords {
  const isRefusal = error instanceof OAuthError || error instanceof HttpError;
  const words = isRefusal && error.situation
    ? situationWords(error.situation, error, refused)
    : causeWords(error, refused);
  const move = isRefusal ? error.advice : undefined;
  return move === undefined ? words : { ...words, move };
}

function causeWords(error: Error, refused: RefusedRequest): ErrorWords {
  const { status, base } = refused;
  if (error instanceof StorageError) {
    return {
      title: "The server's storage does not answer",
      happened: "Nothing was lost or used up.",
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
      happened: sentence(error.message),
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

/** Advises waiting. A link can repeat only a GET. */
function tryAgain(
  { base, method, path }: RefusedRequest,
): Pick<ErrorWords, "move" | "button"> {
  if (method === "GET") {
    return {
      move: "Wait a minute, then try again.",
      button: { label: "Try again", href: "" },
    };
  }
  return path.startsWith("/account")
    ? {
      move: "Wait a minute, then try again.",
      button: { label: "Back to your account", href: base + accountPart(path) },
    }
    : {
      move: "Wait a minute, go back to the page before with your browser's " +
        "Back button, and press the button there again.",
    };
}

/** The parts of the account whose forms have addresses of their own. */
const FORM_PARTS: Readonly<Record<string, string>> = {
  "/account/tokens": "/account/tokens",
  "/account/export": "/account/data",
  "/account/erase": "/account/data",
};

/** Gives the part of the account that a form was on; else the first. */
function accountPart(path: string): string {
  return FORM_PARTS[path] ?? "/account";
}

function situationWords(
  situation: Situation,
  error: OAuthError | HttpError,
  refused: RefusedRequest,
): ErrorWords {
  const { base } = refused;
  const account = (label: string) => ({ label, href: `${base}/account` });
  const message = error instanceof OAuthError
    ? error.description
    : error.message;
  switch (situation) {
    case "expired":
      return {
        title: "This sign-in has expired",
        happened: "It was left for more than ten minutes, or it began in " +
          "another browser.",
        move: "Go back to the app and connect again.",
      };
    case "answered":
      return {
        title: "You have answered already",
        happened:
          "This sign-in has been answered already, perhaps in another " +
          "window. Only the first answer counts.",
        move: "If the app is not connected, connect again from there.",
        button: account("See your connections"),
      };
    case "signed in":
      return {
        title: "You are signed in",
        happened: "This sign-in was completed, and the app has its answer. " +
          "Loading the page again changes nothing.",
        move: "Close this window and go back to the app.",
        button: account("See your connections"),
        // Nothing is wrong, and there is nothing to report.
        reference: undefined,
      };
    case "finished":
      return {
        title: "This sign-in is over",
        happened: "It has ended, or another window is finishing it.",
        move: "If the app is not connected, connect again from there.",
      };
    case "interrupted":
      return {
        title: "The sign-in was interrupted",
        happened: "The provider's answer works only once, and it has been " +
          "used up before the sign-in was complete.",
        move: "Start again from the beginning.",
      };
    case "not approved":
      return {
        title: "This sign-in was not approved",
        happened: "The provider sent you back before you approved the app.",
        move: "Go back to the app and connect again.",
      };
    case "signed out":
      return {
        title: "You are signed out",
        happened: "You are no longer signed in, or the page is older than " +
          "your sign-in. Nothing was changed.",
        move: "Sign in, then do it again.",
        button: account("Sign in"),
      };
    case "blocked":
      return {
        title: "Blocked here",
        happened: "The people who run this server have blocked this account " +
          "or this app. Nothing was opened.",
        move: "Ask them if you think that this is a mistake.",
      };
    case "sign in again":
      return {
        title: "Sign in again first",
        happened: "The server must ask who you are before it makes an access " +
          "token, and your sign-in no longer lets it. Nothing was changed.",
        move: "On your account page, sign out and in again, then make it.",
        button: { label: "Open your account", href: `${base}/account/tokens` },
      };
    case "sign in to erase":
      return {
        title: "Sign in again first",
        happened: "Only a sign-in of the last five minutes may erase " +
          "everything. Nothing was changed.",
        move: "Press Sign in again there, then erase.",
        button: { label: "Open your data", href: `${base}/account/data` },
      };
    case "account sign-in expired":
      return {
        title: "This sign-in has expired",
        happened: "It was left for more than ten minutes, or it began in " +
          "another browser.",
        move: "Sign in again.",
        button: account("Sign in again"),
      };
    case "provider refused":
      return {
        title: sentence(message, ""),
        happened: "You cancelled there, or it does not let this account in.",
        move: "Sign in again, perhaps with another account.",
        button: account("Sign in again"),
      };
    case "provider failed":
      return {
        title: sentence(message, ""),
        happened: "Its answer could not be used. That is between it and this " +
          "server, not something you did.",
        move:
          "Sign in again. If it fails again, tell the people who run this " +
          "server.",
        button: account("Sign in again"),
      };
    case "provider unavailable":
      return {
        title: sentence(message, ""),
        happened: "It is needed to sign you in. Nothing was lost or used up.",
        ...tryAgain(refused),
      };
    case "unknown scopes":
      return {
        title: "The app asks for permissions that do not exist",
        // The codes of all that exist tell a person nothing.
        happened: "None of the permissions that it asks for is known here.",
        move: "Update the app and connect again. If it fails again, tell its " +
          "makers, who find the known ones in this server's metadata.",
      };
    case "client document":
      return {
        title: "The app's own description cannot be read",
        happened: "The app publishes who it is at an address of its own, and " +
          "this server got no usable answer from there.",
        move: "Try again. If it fails again, only the app's makers can fix it.",
        button: refused.method === "GET"
          ? { label: "Try again", href: "" }
          : undefined,
      };
  }
}

/** Titles for an app's mistakes, by the error code of the standards. */
const APP_TITLES: Partial<Record<OAuthErrorCode, string>> = {
  invalid_client: "This server does not know the app",
  invalid_redirect_uri: "The app asks for its answer at another address",
  invalid_scope: "The app asks for a permission that does not exist",
  invalid_target: "The app asks for another server",
  unsupported_response_type: "The app asks for an answer of another kind",
  access_denied: "Access was denied",
};

function appWords({ code, description }: OAuthError): ErrorWords {
  return {
    title: APP_TITLES[code] ?? "The app's request is incomplete or wrong",
    happened: sentence(description),
    move: code === "invalid_client"
      ? "Remove this server in the app, add it again, and connect."
      : "Update the app and connect again. If it fails again, only the app's " +
        "makers can fix it.",
  };
}

function sentence(text: string, end = "."): string {
  return text.replace(/\.?$/, end);
}
