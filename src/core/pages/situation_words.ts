/**
 * The texts of the error page for each situation of a refusal.
 *
 * @module
 */
import type { Situation } from "../errors.ts";
import { AUTHORIZATION_REQUEST_TTL_SECONDS } from "../oauth/lifetimes.ts";
import { printDuration } from "./times.tsx";

export interface ErrorWords {
  /** The error's meaning for the person, such as "This sign-in has expired". */
  title: string;
  /** A description of what happened, in one or two sentences. */
  happened: string;
  /** The next step, and who has to take it. */
  move: string;
  /** A link to the next step. */
  button?: { label: string; href: string };
  /** The reference of the request in the log. */
  reference?: string;
}

export interface RefusedRequest {
  status: number;
  /** The path of the base URL; empty at the root. */
  base: string;
  method: string;
  path: string;
}

const LONGEST = printDuration(AUTHORIZATION_REQUEST_TTL_SECONDS);
const LEFT_TOO_LONG =
  `It was left for more than ${LONGEST}, or it began in another browser.`;

/** The next step if this server does not know the app's registration. */
export const ADD_AGAIN =
  "In the app, remove the connection to this server and add it again: it " +
  "then registers anew.";

/** Makes the texts for each situation. `message` is the refusal's message. */
export function situationWords(
  message: string,
  request: RefusedRequest,
): Record<Situation, ErrorWords> {
  const { base } = request;
  const account = (label: string) => ({ label, href: `${base}/account` });
  return {
    expired: {
      title: "This sign-in has expired",
      happened: LEFT_TOO_LONG,
      move: "Go back to the app and connect again.",
    },
    answered: {
      title: "You have answered already",
      happened: "This sign-in has been answered already, perhaps in another " +
        "window. Only the first answer counts.",
      move: "If the app is not connected, connect again from there.",
      button: account("See your connections"),
    },
    "signed in": {
      title: "You are signed in",
      happened: "This sign-in was completed, and the app has its answer. " +
        "Loading the page again changes nothing.",
      move: "Close this window and go back to the app.",
      button: account("See your connections"),
      // Nothing is wrong, so there is nothing to report.
      reference: undefined,
    },
    finished: {
      title: "This sign-in is over",
      happened: "It has ended, or another window is finishing it.",
      move: "If the app is not connected, connect again from there.",
    },
    interrupted: {
      title: "The sign-in was interrupted",
      happened: "The provider's answer works only once, and it has been " +
        "used up before the sign-in was complete.",
      move: "Start again from the beginning.",
    },
    "not approved": {
      title: "This sign-in was not approved",
      happened: "The provider sent you back before you approved the app.",
      move: "Go back to the app and connect again.",
    },
    "signed out": {
      title: "You are signed out",
      happened: "You are no longer signed in, or the page is older than " +
        "your sign-in. Nothing was changed.",
      move: "Sign in, then do it again.",
      button: account("Sign in"),
    },
    "connecting expired": {
      title: "This cannot be finished here",
      happened: "Connecting an account began in another browser, for someone " +
        "else, or too long ago. Nothing was kept.",
      move: "Open your accounts, and connect it from there.",
      button: { label: "Your accounts", href: `${base}/account/accounts` },
    },
    "accounts off": {
      title: "No account can be connected now",
      happened: endSentence(message),
      move: "Tell the people who run this server. Nothing was lost.",
    },
    "wrong entry": {
      title: "Something in the form does not fit",
      happened: `${endSentence(message)} The question is still open.`,
      move: "Go back with your browser's Back button, correct it, and answer " +
        "again.",
    },
    blocked: {
      title: "Blocked here",
      happened: "The people who run this server have blocked this account " +
        "or this app. Nothing was opened.",
      move: "Ask them if you think that this is a mistake.",
    },
    "not fresh": {
      title: "Sign in again first",
      happened: `${endSentence(message)} Nothing was changed.`,
      move: "Open that page of your account, and press Sign in again there.",
      button: account("Open your account"),
    },
    "passkey refused": {
      title: endSentence(message, ""),
      happened: "It was made for another page or by another passkey, it does " +
        "not count yet, or it was used before. Nothing was changed.",
      move:
        "Go back, load the page again, and use a passkey that you have here.",
      button: { label: "Your passkeys", href: `${base}/account/passkeys` },
    },
    "not asked again": {
      title: endSentence(message, ""),
      happened: "It must ask who you are, and say when. Nothing was changed.",
      move:
        "Sign out there, then press Sign in again where you came from. If " +
        "that fails, ask the people who run this server.",
      button: account("Your account"),
    },
    "account sign-in expired": {
      title: "This sign-in has expired",
      happened: LEFT_TOO_LONG,
      move: "Sign in again.",
      button: account("Sign in again"),
    },
    "provider refused": {
      title: endSentence(message, ""),
      happened: "You cancelled there, or it does not let this account in.",
      move: "Sign in again, perhaps with another account.",
      button: account("Sign in again"),
    },
    "provider failed": {
      title: endSentence(message, ""),
      happened: "Its answer could not be used. That is between it and this " +
        "server, not something you did.",
      move: "Sign in again. If it fails again, tell the people who run this " +
        "server.",
      button: account("Sign in again"),
    },
    "foreign answer": {
      title: endSentence(message, ""),
      happened: "Something else arrived in its place, or too late. Your " +
        "sign-in is still open.",
      move: "Go on in the window of your provider, or connect again from the " +
        "app.",
    },
    "provider unavailable": {
      title: endSentence(message, ""),
      happened: "It is needed to sign you in. Nothing was lost or used up.",
      ...tryAgain(request),
    },
    "unknown scopes": {
      title: "The app asks for permissions that do not exist",
      // The message lists scopes, which mean nothing to a person.
      happened: "None of the permissions that it asks for is known here.",
      move: "Update the app and connect again. If it fails again, tell its " +
        "makers, who find the known ones in this server's metadata.",
    },
    "client document": {
      title: "The app's own description cannot be read",
      happened: "The app publishes who it is at an address of its own, and " +
        "this server got no usable answer from there.",
      move: "Wait a minute, then try again. If it stays so, this server may " +
        "not reach the Internet: with CIMD_ENABLED=false apps register here " +
        "instead.",
      button: request.method === "GET"
        ? { label: "Try again", href: "" }
        : undefined,
    },
    "other redirect": {
      title: "The app asks for its answer at another address",
      happened: endSentence(message),
      move: ADD_AGAIN,
    },
  };
}

/** Advises to try again later. A link can repeat only a GET. */
export function tryAgain(
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
      button: {
        label: "Back to your account",
        href: base + (FORM_PARTS[path] ?? "/account"),
      },
    }
    : {
      move: "Wait a minute, go back to the page before with your browser's " +
        "Back button, and press the button there again.",
    };
}

/** The parts of the account page, keyed by the paths of their forms. */
const FORM_PARTS: Readonly<Record<string, string>> = {
  "/account/tokens": "/account/tokens",
  "/account/export": "/account/data",
  "/account/erase": "/account/data",
  "/account/work/answer": "/account/work",
  "/account/work/cancel": "/account/work",
};

/** Returns a text with `end` in place of its full stop. */
export function endSentence(text: string, end = "."): string {
  return text.replace(/\.?$/, end);
}
