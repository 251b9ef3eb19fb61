/**
 * The method of an HTTP request, safe to record.
 *
 * @module
 */

const METHODS = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/;

/**
 * Gives one name to all unknown methods: they are a stranger's words, of any
 * length.
 */
export function methodName(method: string): string {
  return METHODS.test(method) ? method : "HTTP";
}
