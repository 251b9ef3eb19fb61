/**
 * The part of RFC 6570 that resources use: `{name}` for one path segment and
 * `{+name}` for the rest of a path.
 *
 * @module
 * @see RFC 6570 §3.2.2 and §3.2.3
 */

/** A template, ready to be matched against URIs. */
export interface UriTemplate {
  variables: readonly string[];
  /** The variables of a URI, percent-decoded; undefined when it does not match. */
  match(uri: string): Record<string, string> | undefined;
}

const EXPRESSION = /\{([^{}]*)\}/g;
const OPERAND = /^(\+?)([A-Za-z0-9_]+)$/;

/** Whether a URI has variables at all. */
export function isTemplate(uri: string): boolean {
  return /[{}]/.test(uri);
}

/**
 * Parses a template.
 *
 * @throws {SyntaxError} for an expression this server does not match, a
 * variable named twice, or an unbalanced brace
 */
export function parseUriTemplate(template: string): UriTemplate {
  const variables: string[] = [];
  let pattern = "";
  let end = 0;
  for (
    const { 0: expression, 1: inner, index } of template.matchAll(EXPRESSION)
  ) {
    const [, reserved, name] = OPERAND.exec(inner) ?? [];
    if (name === undefined) {
      throw new SyntaxError(`${expression} is not {name} or {+name}`);
    }
    if (variables.includes(name)) {
      throw new SyntaxError(`{${name}} is there twice`);
    }
    variables.push(name);
    pattern += literal(template.slice(end, index)) +
      (reserved ? "(.+)" : "([^/?#]+)");
    end = index + expression.length;
  }
  const expression = new RegExp(`^${pattern}${literal(template.slice(end))}$`);
  return {
    variables,
    match(uri) {
      const values = expression.exec(uri)?.slice(1);
      return values && decodeAll(variables, values);
    },
  };
}

function literal(text: string): string {
  if (/[{}]/.test(text)) throw new SyntaxError(`unbalanced brace in "${text}"`);
  return RegExp.escape(text);
}

function decodeAll(
  names: readonly string[],
  values: readonly string[],
): Record<string, string> | undefined {
  try {
    return Object.fromEntries(
      names.map((name, i) => [name, decodeURIComponent(values[i])]),
    );
  } catch {
    return undefined;
  }
}
