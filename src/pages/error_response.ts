/**
 * A refusal as a page, for browsers.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError, OAuthError } from "../errors.ts";
import { ErrorPage, type ErrorProps } from "./error_page.tsx";
import { page } from "./respond.ts";

type Words = Pick<ErrorProps, "title" | "happened" | "move">;

/**
 * Shows an error to a person.
 *
 * @param reference names the log's line on it
 */
export function errorPage(
  c: Context,
  error: Error,
  { serverTitle, reference }: { serverTitle: string; reference: string },
): Response {
  const status = error instanceof OAuthError || error instanceof HttpError
    ? error.status
    : 500;
  return page(
    c,
    ErrorPage({ serverTitle, reference, ...wordsFor(error, status) }),
    { status },
  );
}

function wordsFor(error: Error, status: number): Words {
  const isRefusal = error instanceof OAuthError || error instanceof HttpError;
  const told = isRefusal ? error.advice : undefined;
  if (error instanceof OAuthError && (status < 500 || told !== undefined)) {
    return {
      title: "This request cannot go on",
      happened: `${error.description}.`.replace(/\.\.$/, "."),
      move: told ?? "Go back to the app and connect again. If that ends here " +
          "too, only the makers of the app can fix it.",
    };
  }
  switch (status) {
    case 404:
      return {
        title: "There is nothing at this address",
        happened: "The address may be mistyped, or its page has gone.",
        move: "Begin at the start page of this server.",
      };
    case 429:
      return {
        title: "Too many requests",
        happened: "This address has sent more requests than are allowed.",
        move: "Wait a minute, then try again.",
      };
    case 501:
      return {
        title: "Nobody signs in here",
        happened: "This server runs without signing in.",
        move: "Connect a client without it: the start page says how.",
      };
    case 503:
      return {
        title: "Not available at the moment",
        happened: told === undefined
          ? "Something that this server depends on does not answer. Nothing " +
            "was lost."
          : `${error.message}.`,
        move: told ?? "Wait a minute, then load this page again.",
      };
  }
  if (error instanceof HttpError) {
    return {
      title: "This request cannot go on",
      happened: `${error.message}.`.replace(/\.\.$/, "."),
      move: told ?? "Go back and begin again.",
    };
  }
  return {
    title: "Something went wrong here",
    happened: "The fault is this server's, not yours.",
    move: "Try again. If it happens again, tell whoever runs this server.",
  };
}
