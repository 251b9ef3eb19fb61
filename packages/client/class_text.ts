/**
 * The text of a class, for a page that runs it.
 *
 * @module
 */

/**
 * Prints a class as an expression, together with those that it extends. It may
 * use nothing else of its module.
 */
export function classText(Class: object): string {
  // A bundler may have given the class another name than this text shows.
  const base = /^class [^{]*\bextends ([\w$]+)/.exec(`${Class}`)?.[1];
  return base === undefined
    ? `${Class}`
    : `((${base}) => ${Class})(${classText(Object.getPrototypeOf(Class))})`;
}
