/** @jsxImportSource @hono/hono/jsx */
/**
 * What a person sees when something cannot go on.
 *
 * @module
 */
import { Layout, type PageProps } from "./layout.tsx";

/** An error in a person's terms. */
export interface ErrorProps extends PageProps {
  /** What it means for the person: "This sign-in has expired". */
  title: string;
  /** What happened, in one or two sentences. */
  happened: string;
  /** Whose move it is, and what it is. */
  move: string;
  /** Where that begins, if a link leads there. */
  button?: { label: string; href: string };
  /** The request id under which the log tells more. */
  reference?: string;
}

/** A page that says what happened and whose move it is. */
export function ErrorPage(props: ErrorProps) {
  const { serverTitle, about, title, happened, move, button, reference } =
    props;
  return (
    <Layout title={title} serverTitle={serverTitle} about={about}>
      <main class="card">
        <h1>{title}</h1>
        <p class="lead">{happened}</p>
        <dl class="facts">
          <div>
            <dt>What to do</dt>
            <dd>
              <p>{move}</p>
              {button && (
                <p>
                  <a class="button primary" href={button.href}>
                    {button.label}
                  </a>
                </p>
              )}
            </dd>
          </div>
          {reference && (
            <div>
              <dt>If you report this, quote</dt>
              <dd>
                <code>{reference}</code>
              </dd>
            </div>
          )}
        </dl>
      </main>
    </Layout>
  );
}
