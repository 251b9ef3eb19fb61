/** @jsxImportSource @hono/hono/jsx */
/**
 * A table, which fits a phone too, and the times in it.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { visible } from "../log/log_line.ts";

/** A table; on a phone each row is a card, its cells under their headings. */
export function Table(
  { title, label = title, empty, columns, rows, isCompact, children }: {
    /** The heading; absent where that of the page is enough. */
    title?: string;
    /** The name of the table, for people who hear it. */
    label?: string;
    empty: string;
    columns: readonly string[];
    rows: readonly Child[][];
    /** True if a phone shows cells in line, without their headings. */
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

/** Codes in a cell, a line each. */
export function CodeLines({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((code) => (
        <div>
          <code>{visible(code)}</code>
        </div>
      ))}
    </>
  );
}

/** The moment and the present, both in epoch seconds. */
interface MomentProps {
  at: number;
  now: number;
}

/** The time within which a moment needs no date. */
const DAY_SECONDS = 24 * 60 * 60;

const AGO = new Intl.RelativeTimeFormat("en");
const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60]] as const;

/** Tells how long ago a moment was: "just now", "5 minutes ago". */
export function timeAgo({ at, now }: MomentProps): string {
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor((now - at) / seconds);
    if (count >= 1) return AGO.format(-count, unit);
  }
  return "just now";
}

/** {@linkcode timeAgo}, with the exact moment for machines and for a pointer. */
export function Moment({ at, now }: MomentProps) {
  const exact = new Date(at * 1000).toISOString();
  return <time datetime={exact} title={exact}>{timeAgo({ at, now })}</time>;
}

/** A moment that is to come, by the clock: "14:20 UTC". */
export function Upcoming({ at, now }: MomentProps) {
  const exact = new Date(at * 1000).toISOString();
  const time = `${exact.slice(11, 16)} UTC`;
  return (
    <time datetime={exact} title={exact}>
      {at - now < DAY_SECONDS ? time : `${exact.slice(0, 10)}, ${time}`}
    </time>
  );
}
