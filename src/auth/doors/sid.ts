/**
 * `sid`: a name that a client's address may carry (`/mcp?sid=…`), to
 * correlate its requests. It is passed on in the address of the metadata, and
 * means nothing else.
 *
 * @module
 */

const SID = /^[A-Za-z0-9._~-]{1,128}$/;

/** True if the text may correlate requests as `sid`. It never means more. */
export function isSid(text: string): boolean {
  return SID.test(text);
}

/** Reads the `sid` of a request's address; undefined without a valid one. */
export function sidOf({ url }: Request): string | undefined {
  const sid = new URL(url).searchParams.get("sid");
  return sid !== null && isSid(sid) ? sid : undefined;
}
