/**
 * The method of an HTTP request, as it may be told.
 *
 * @module
 */

const METHODS = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/;

/** Others are a stranger's words, of any length, and have one name. */
export function methodName(method: string): string {
  return METHODS.test(method) ? method : "HTTP";
}
