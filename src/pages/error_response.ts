/**
 * A refusal as a page, for browsers.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { About } from "../authoring/about.ts";
import { basePathOf } from "../net/base_path.ts";
import { HttpError, OAuthError } from "../errors.ts";
import { ErrorPage } from "./error_page.tsx";
import { wordsFor } from "./error_words.ts";
import { page } from "./respond.ts";

/**
 * Shows an error to a person.
 *
 * @param reference the id of the log's line about it
 */
export function errorPage(
  c: Context,
  error: Error,
  { serverTitle, about, baseUrl, reference }: {
    serverTitle: string;
    about?: About;
    /** Public address, without a trailing slash. */
    baseUrl: string;
    reference: string;
  },
): Response {
  const status = error instanceof OAuthError || error instanceof HttpError
    ? error.status
    : 500;
  const words = wordsFor(error, {
    status,
    base: basePathOf(baseUrl),
    method: c.req.method,
    path: c.req.path,
  });
  return page(c, ErrorPage({ serverTitle, about, reference, ...words }), {
    status,
  });
}
