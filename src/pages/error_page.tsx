/** @jsxImportSource @hono/hono/jsx */
/**
 * The page that a person sees when something cannot go on.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError, OAuthError } from "../errors.ts";
import { basePathOf } from "../net/url.ts";
import { wordsFor } from "./error_words.ts";
import { CardPage, Fact, type PageProps } from "./layout.tsx";
import { page } from "./respond.ts";
import type { ErrorWords } from "./situation_words.ts";

/** A page that says what happened and whose move it is. */
export function ErrorPage(props: PageProps & ErrorWords) {
  const { happened, move, button, reference } = props;
  return (
    <CardPage {...props}>
      <p class="lead">{happened}</p>
      <dl class="facts">
        <Fact term="What to do">
          <p>{move}</p>
          {button && (
            <p>
              <a class="button primary" href={button.href}>{button.label}</a>
            </p>
          )}
        </Fact>
        {reference && (
          <Fact term="If you report this, quote">
            <code>{reference}</code>
          </Fact>
        )}
      </dl>
    </CardPage>
  );
}

/** Shows an error to a person. */
export function errorPage(
  c: Context,
  error: Error,
  { baseUrl, ...props }: PageProps & {
    /** Public address, without a trailing slash. */
    baseUrl: string;
    /** The ID of the log's line about it. */
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
  return page(c, ErrorPage({ ...props, ...words }), { status });
}
