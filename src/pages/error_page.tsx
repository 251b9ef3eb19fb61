/** @jsxImportSource @hono/hono/jsx */
/**
 * The page that a person sees when something cannot go on.
 *
 * @module
 */
import { Layout, type PageProps } from "./layout.tsx";

/** An error in a person's terms. */
export interface ErrorProps extends PageProps {
  /** The error's meaning for the person: "This sign-in has expired". */
  title: string;
  /** An account of what happened, in one or two sentences. */
  happened: string;
  /** The next step, and the one who takes it. */
  move: string;
  /** A link to the next step, if there is one. */
  button?: { label: string; href: string };
  /** The request id, under which the log has more. */
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
