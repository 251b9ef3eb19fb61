/**
 * The credentials of our application, as HTTP Basic has them.
 *
 * @module
 */
/**
 * Makes Basic credentials. Both parts are encoded first, because of colons (RFC
 * 6749 §2.3.1). oauth4webapi encodes `-`, `_` and `.` too, as forms may be;
 * providers that do not decode would then know no client with such an id.
 */
export function basic(clientId: string, clientSecret: string): string {
  const pair = `${encodeURIComponent(clientId)}:` +
    encodeURIComponent(clientSecret);
  return `Basic ${btoa(pair)}`;
}
