/** @jsxImportSource @hono/hono/jsx */
/**
 * Times and durations as text for pages.
 *
 * @module
 */

const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60]] as const;

/**
 * Formats a duration in the largest unit in which it is a whole number: "90
 * days".
 */
export function printDuration(seconds: number): string {
  // One day is "24 hours".
  const [unit, length] =
    UNITS.find(([unit, length]) =>
      seconds % length === 0 && (unit !== "day" || seconds > length)
    ) ?? ["second", 1];
  const count = seconds / length;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** A time and the present, both in epoch seconds. */
interface MomentProps {
  at: number;
  now: number;
}

const AGO = new Intl.RelativeTimeFormat("en");

/** Tells how long ago a moment was: "just now", "5 minutes ago". */
export function timeAgo({ at, now }: MomentProps): string {
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor((now - at) / seconds);
    if (count >= 1) return AGO.format(-count, unit);
  }
  return "just now";
}

/** Shows {@linkcode timeAgo}, with the exact time as a tooltip. */
export function PastTime({ at, now }: MomentProps) {
  const exact = new Date(at * 1000).toISOString();
  return <time datetime={exact} title={exact}>{timeAgo({ at, now })}</time>;
}

/** Shows a future time: "14:20 UTC", with the date unless it is today. */
export function FutureTime({ at, now }: MomentProps) {
  const exact = new Date(at * 1000).toISOString();
  const time = `${exact.slice(11, 16)} UTC`;
  const day = dayOf(at);
  return (
    <time datetime={exact} title={exact}>
      {day === dayOf(now) ? time : `${day}, ${time}`}
    </time>
  );
}

/** Formats the day of a time in UTC: "2026-11-26". */
export function dayOf(at: number): string {
  return new Date(at * 1000).toISOString().slice(0, 10);
}
