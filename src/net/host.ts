/**
 * The `Host` header.
 *
 * @see RFC 9110 §7.2
 * @module
 */

/** A name or an address, and a port: nothing that would begin a path. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d*)?$/i;

/** True if a text is a host, with a port or without, that URLs can have. */
export function isHost(text: string): boolean {
  return HOST.test(text) && URL.canParse(`http://${text}/`);
}
