/**
 * The part of RFC 6570 that resources use: `{name}` for one path segment and
 * `{+name}` for the rest of a path.
 *
 * @module
 * @see RFC 6570 §3.2.2 and §3.2.3
 */

export const MAX_URI_CHARACTERS = 8192;

export interface UriTemplate {
  variables: readonly string[];
  /** Returns the decoded variables of a URI; undefined if it does not match. */
  match(uri: string): Record<string, string> | undefined;
}

const EXPRESSION = /\{([^{}]*)\}/g;
const OPERAND = /^(\+?)([A-Za-z0-9_]+)$/;

export function isTemplate(uri: string): boolean {
  return /[{}]/.test(uri);
}

/**
 * Parses a template.
 * @throws {SyntaxError} for an unsupported expression, a variable that occurs
 * twice, or an unbalanced brace
 */
export function parseUriTemplate(template: string): UriTemplate {
  const variables: string[] = [];
  const steps: Step[] = [];
  let head: string | undefined;
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
    const before = literal(template.slice(end, index));
    if (head === undefined) head = before;
    else steps.at(-1)!.after = before;
    variables.push(name);
    steps.push({ crossesSegments: reserved === "+", after: "" });
    end = index + expression.length;
  }
  const tail = literal(template.slice(end));
  if (steps.length > 0) steps.at(-1)!.after = tail;
  return {
    variables,
    match(uri) {
      const values = matchSteps(head ?? tail, steps, uri);
      return values && decodeAll(variables, values);
    },
  };
}

/** A variable and the text that follows it. */
interface Step {
  /** True for `{+name}`. */
  crossesSegments: boolean;
  after: string;
}

function literal(text: string): string {
  if (/[{}]/.test(text)) throw new SyntaxError(`unbalanced brace in "${text}"`);
  return text;
}

/**
 * Returns the values of the variables. Matches greedily: an earlier variable
 * takes all that later ones do not need. Works from the end, with one pass over
 * the URI for each variable: a regular expression would try every way to divide
 * the URI.
 */
function matchSteps(
  head: string,
  steps: readonly Step[],
  uri: string,
): string[] | undefined {
  if (uri.length > MAX_URI_CHARACTERS || !uri.startsWith(head)) {
    return undefined;
  }
  const tail = steps.at(-1)?.after ?? "";
  if (!uri.endsWith(tail)) return undefined;
  if (steps.length === 0) return uri === head ? [] : undefined;
  /**
   * For each variable (from the last) and each position in the URI: the end of
   * the variable if it starts there, else 0.
   */
  const ends: Uint16Array[] = [];
  for (const { crossesSegments, after } of steps.toReversed()) {
    const next = ends.at(-1);
    const here = new Uint16Array(uri.length + 1);
    let longest = 0;
    for (let at = uri.length - 1; at >= head.length; at--) {
      const restBegins = at + 1 + after.length;
      const restMatches = next
        ? next[restBegins] > 0
        : restBegins === uri.length;
      if (longest === 0 && restMatches && uri.startsWith(after, at + 1)) {
        longest = at + 1;
      }
      if (!crossesSegments && "/?#".includes(uri[at])) longest = 0;
      here[at] = longest;
    }
    ends.push(here);
  }
  const values: string[] = [];
  let start = head.length;
  for (const { after } of steps) {
    const end = ends.pop()![start];
    if (!end) return undefined;
    values.push(uri.slice(start, end));
    start = end + after.length;
  }
  return values;
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
