/** @jsxImportSource @hono/hono/jsx */
/**
 * The components that pages share: the document with the server's name and the
 * operator's details; facts, forms, and a line to copy.
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { raw } from "@hono/hono/html";
import { aboutLinks, type OperatorInfo } from "../../authoring/about.ts";
import { STYLE } from "./style.ts";

const MARK = "M5 4h14a1 1 0 0 1 1 1v4.5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 " +
  "0 0 1 1-1Zm0 9.5h14a1 1 0 0 1 1 1V19a1 1 0 0 1-1 1H5a1 1 0 0 " +
  "1-1-1v-4.5a1 1 0 0 1 1-1ZM7.5 7.25h.01m-.01 9.5h.01M11 7.25h5.5" +
  "m-5.5 9.5h5.5";

const ICON = "data:image/svg+xml," + encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3a8f79" stroke-width="2" stroke-linecap="round"><path d="${MARK}"/></svg>`,
);

export interface PageProps {
  /** The path of the base URL; empty at the root. */
  base?: string;
  /** `MCP_TITLE`: the server's name for people. */
  serverTitle: string;
  /** Shown at the foot of the page. */
  about?: OperatorInfo;
}

interface LayoutProps extends PageProps {
  /** The document's title, before the server's name. */
  title: string;
  /** `wide` for lists, `full` for tables; narrow by default. */
  width?: "wide" | "full";
  /** The scripts of `scripts.ts` that the page runs. */
  scripts?: readonly string[];
  /** Links for this page only, before those of the server. */
  footer?: Child;
  children: Child;
}

export function Layout(
  { title, serverTitle, about, width, scripts = [], footer, children }:
    LayoutProps,
) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{title} · {serverTitle}</title>
        <link rel="icon" href={ICON} />
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <div class={width ? `page ${width}` : "page"}>
          <header class="brand">
            <svg
              viewBox="0 0 24 24"
              fill="none"
              stroke="currentColor"
              stroke-width="1.6"
              stroke-linecap="round"
              aria-hidden="true"
            >
              <path d={MARK} />
            </svg>
            <bdi>{serverTitle}</bdi>
          </header>
          {children}
          <Footer about={about}>{footer}</Footer>
        </div>
        {scripts.map((script) => <script>{raw(script)}</script>)}
      </body>
    </html>
  );
}

/** A document with one card, whose heading is the title by default. */
export function CardPage(
  { heading, children, ...page }: LayoutProps & { heading?: Child },
) {
  return (
    <Layout {...page}>
      <main class="card">
        <h1>{heading ?? page.title}</h1>
        {children}
      </main>
    </Layout>
  );
}

/** A term and its description in a list of facts. */
export function FactRow(
  { term, class: look, children }: {
    term: string;
    class?: string;
    children: Child;
  },
) {
  return (
    <div>
      <dt>{term}</dt>
      <dd class={look}>{children}</dd>
    </div>
  );
}

function Footer(
  { about = {}, children }: { about?: OperatorInfo; children?: Child },
) {
  const { operator } = about;
  const links = aboutLinks(about);
  if (!operator && !children && links.length === 0) return null;
  return (
    <footer>
      {operator && (
        <span>
          Run by <bdi>{operator}</bdi>
        </span>
      )}
      {children}
      {links.map(([label, href]) => <a href={href}>{label}</a>)}
    </footer>
  );
}

/** A line to copy. The button appears only if scripts run. */
export function CopyLine({ text, label }: { text: string; label: string }) {
  return (
    <div class="line">
      <code>{text}</code>
      <button
        class="quiet"
        type="button"
        data-copy={text}
        aria-label={label}
        hidden
      >
        Copy
      </button>
    </div>
  );
}

/** The part of the account page that has the form. */
export interface FormPage extends Pick<PageProps, "base"> {
  csrf: string;
  /**
   * The part of the account page, or the question, to return to; undefined for
   * the first part.
   */
  back?: string;
}

/** Hidden fields; undefined values are left out. */
export function HiddenFields(
  { of }: { of: Iterable<readonly [name: string, value?: string]> },
) {
  return (
    <>
      {[...of].map(([name, value]) =>
        value !== undefined && <input type="hidden" name={name} value={value} />
      )}
    </>
  );
}

/** A form of the account page, posted to a path below the base. */
export function AccountForm(
  {
    base = "",
    csrf,
    back,
    action,
    fields,
    labelledBy,
    children,
    ...attributes
  }:
    & FormPage
    & {
      /** The path: `/account/end`. */
      action: string;
      fields?: Readonly<Record<string, string>>;
      class?: string;
      autocomplete?: "off";
      /** Options of the form's scripts. */
      "data-get"?: string;
      "data-create"?: string;
      /**
       * The id of the element that names the form, if the page has several
       * forms.
       */
      labelledBy?: string;
      children: Child;
    },
) {
  return (
    <form
      method="post"
      action={`${base}${action}`}
      aria-labelledby={labelledBy}
      {...attributes}
    >
      <HiddenFields
        of={Object.entries({ csrf, back: back || undefined, ...fields })}
      />
      {children}
    </form>
  );
}
