/**
 * HTTP Basic authentication of this server as an OAuth client.
 * @module
 */
/**
 * Formats Basic credentials. Both parts are form-encoded first (RFC 6749
 * §2.3.1). Unlike in oauth4webapi, `-`, `_` and `.` are not encoded: some
 * providers do not decode the client ID.
 */
export function basicCredentials(
  clientId: string,
  clientSecret: string,
): string {
  const pair = `${encodeURIComponent(clientId)}:` +
    encodeURIComponent(clientSecret);
  return `Basic ${btoa(pair)}`;
}
