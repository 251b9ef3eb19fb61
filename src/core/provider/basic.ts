/**
 * The credentials of our client, as HTTP Basic authentication.
 *
 * @module
 */
/**
 * Makes Basic credentials. Both parts are form-encoded, because of colons (RFC
 * 6749 §2.3.1). Unlike here, oauth4webapi encodes `-`, `_` and `.` as well;
 * providers that do not decode would not know a client whose id has them.
 */
export function basic(clientId: string, clientSecret: string): string {
  const pair = `${encodeURIComponent(clientId)}:` +
    encodeURIComponent(clientSecret);
  return `Basic ${btoa(pair)}`;
}
