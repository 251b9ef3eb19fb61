/**
 * The lengths and formats of texts that a field of a form accepts.
 *
 * @module
 * @see MCP 2026-07-28, Elicitation, Requested Schema
 * @see JSON Schema Validation 2020-12, §7.3
 */

/** The bounds of a text. Lengths are in UTF-16 units, as in browsers. */
export interface TextBounds {
  format?: string;
  minLength?: number;
  maxLength?: number;
}

interface Format {
  /** Describes the format, for a refusal. */
  wants: string;
  has(text: string): boolean;
}

/** Matches a date and time with the offset from UTC (RFC 3339 §5.6). */
export const DATE_TIME =
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+\-]\d\d:\d\d)$/;

const DAY = /^\d{4}-\d\d-\d\d$/;

const FORMATS: Readonly<Record<string, Format>> = {
  email: {
    wants: "must be an email address",
    has: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  },
  uri: {
    wants: "must be an address, such as https://example.com/",
    has: (text) => URL.canParse(text),
  },
  date: {
    wants: "must be a day, such as 2026-11-26",
    has: (text) => DAY.test(text) && isDay(text),
  },
  "date-time": {
    wants: "must be a time, such as 2026-11-26T14:00:00Z",
    has: (text) =>
      DATE_TIME.test(text) && isDay(text.slice(0, 10)) &&
      !Number.isNaN(Date.parse(text)),
  },
};

/** True if a day exists. `Date` alone would make 30 February a day in March. */
function isDay(day: string): boolean {
  const milliseconds = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(milliseconds) &&
    new Date(milliseconds).toISOString().startsWith(day);
}

/** Says how a text breaks its bounds; undefined if it does not. */
export function textFault(
  text: string,
  { format = "", minLength = 0, maxLength = Infinity }: TextBounds,
): string | undefined {
  if (text.length < minLength) return `needs at least ${minLength} characters`;
  if (text.length > maxLength) return `takes at most ${maxLength} characters`;
  if (!Object.hasOwn(FORMATS, format)) return undefined;
  const { wants, has } = FORMATS[format];
  return has(text) ? undefined : wants;
}
