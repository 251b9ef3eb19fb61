/** @jsxImportSource @hono/hono/jsx */
/**
 * A table, which also fits on a phone.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { escaped } from "../log/log_line.ts";

/**
 * A table. On a phone each row is a card, with the headings in front of its
 * cells.
 */
export function Table(
  { title, label = title, empty, columns, rows, isCompact, children }: {
    /** The heading; undefined if the page's heading is enough. */
    title?: string;
    /** The name of the table, for screen readers. */
    label?: string;
    empty: string;
    columns: readonly string[];
    rows: readonly Child[][];
    /** True if a phone shows the cells in one line, without headings. */
    isCompact?: boolean;
    /** Content between the heading and the rows. */
    children?: Child;
  },
) {
  return (
    <section>
      {title && <h2>{title}</h2>}
      {children}
      {rows.length === 0 ? <p class="card soft">{empty}</p> : (
        <div class="card">
          <table
            role="table"
            aria-label={label}
            class={isCompact ? "compact" : undefined}
          >
            <thead role="rowgroup">
              <tr role="row">
                {columns.map((column) =>
                  column
                    ? <th role="columnheader" scope="col">{column}</th>
                    : <td role="cell"></td>
                )}
              </tr>
            </thead>
            <tbody role="rowgroup">
              {rows.map((row) => (
                <tr role="row">
                  {row.map((cell, index) => (
                    <td role="cell" data-label={columns[index]}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

export function CodeLines({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((code) => (
        <div>
          <code>{escaped(code)}</code>
        </div>
      ))}
    </>
  );
}
