/** @jsxImportSource @hono/hono/jsx */
/**
 * What all pages share: the document, the server's name above the content,
 * and the small pieces that more than one of them uses.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { raw } from "@hono/hono/html";
import { STYLE } from "./style.ts";

const MARK = "M5 4h14a1 1 0 0 1 1 1v4.5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 " +
  "0 0 1 1-1Zm0 9.5h14a1 1 0 0 1 1 1V19a1 1 0 0 1-1 1H5a1 1 0 0 " +
  "1-1-1v-4.5a1 1 0 0 1 1-1ZM7.5 7.25h.01m-.01 9.5h.01M11 7.25h5.5" +
  "m-5.5 9.5h5.5";

const ICON = "data:image/svg+xml," + encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3a8f79" stroke-width="2" stroke-linecap="round"><path d="${MARK}"/></svg>`,
);

/** A whole document. `wide` is for pages that list things. */
export function Layout(
  { title, serverTitle, wide = false, script, children }: {
    /** Of the document, before the server's name. */
    title: string;
    /** `MCP_TITLE`: what people know this server as. */
    serverTitle: string;
    wide?: boolean;
    /** One of `scripts.ts`. */
    script?: string;
    children: Child;
  },
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
        <div class={wide ? "page wide" : "page"}>
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
            {serverTitle}
          </header>
          {children}
        </div>
        {script && <script>{raw(script)}</script>}
      </body>
    </html>
  );
}

/**
 * A name that somebody else chose, made harmless to read: no control or
 * direction characters, one line, 80 characters at most.
 */
export function displayName(name: string): string {
  const plain = name.replaceAll(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  const characters = [...plain];
  return characters.length > 80
    ? `${characters.slice(0, 79).join("")}…`
    : plain || "An app without a name";
}
