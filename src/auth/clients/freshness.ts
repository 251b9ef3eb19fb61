/**
 * The time for which an answer may be kept.
 *
 * @see RFC 9111 §4.2
 * @module
 */

/** The default for answers that say nothing. */
const DEFAULT_FRESH_SECONDS = 3600;

/**
 * Computes the seconds for which an answer stays fresh, from its
 * `Cache-Control`, `Expires` and `Age`; never less than 0.
 *
 * @param now epoch seconds
 */
export function freshSeconds(headers: Headers, now: number): number {
  return Math.max(0, toldSeconds(headers, now) ?? DEFAULT_FRESH_SECONDS);
}

function toldSeconds(headers: Headers, now: number): number | undefined {
  const directives = (headers.get("cache-control") ?? "").toLowerCase();
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/.test(directives)) return 0;
  const lifetime = seconds(directives, "s-maxage") ??
    seconds(directives, "max-age");
  if (lifetime !== undefined) return lifetime - age(headers);
  const expires = headers.get("expires");
  if (expires === null) return undefined;
  // An invalid date is in the past (RFC 9111 §5.3).
  const expiresAt = Date.parse(expires) / 1000;
  const date = Date.parse(headers.get("date") ?? "") / 1000;
  if (Number.isNaN(expiresAt)) return 0;
  return Math.floor(expiresAt - (Number.isNaN(date) ? now : date)) -
    age(headers);
}

function seconds(directives: string, name: string): number | undefined {
  const value = RegExp(`(?:^|[\\s,])${name}="?(\\d{1,10})`).exec(directives)
    ?.[1];
  return value === undefined ? undefined : Number(value);
}

function age(headers: Headers): number {
  const value = headers.get("age") ?? "";
  return /^\d{1,10}$/.test(value) ? Number(value) : 0;
}
