/** @jsxImportSource @hono/hono/jsx */
/**
 * A moment, relative to now, or as a time of the clock.
 *
 * @module
 */

/** The moment and the present, both in epoch seconds. */
interface MomentProps {
  at: number;
  now: number;
}

/** The time within which a moment needs no date. */
const DAY_SECONDS = 24 * 60 * 60;

const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60]] as const;

/**
 * Tells how long ago a moment was: "just now", "5 minutes ago", "3 days ago".
 */
export function timeAgo({ at, now }: MomentProps): string {
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor((now - at) / seconds);
    if (count >= 1) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
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
