/**
 * Scopes in an author's words.
 *
 * @module
 */

/**
 * What a scope lets a client do, for people: "Read your mail". With `stepUp`
 * it is not asked for at every sign-in, but when something first needs it.
 */
export type ScopeDefinition = string | {
  description: string;
  stepUp?: boolean;
};

/** Definitions by scope. */
export type ScopeDefinitions = Readonly<Record<string, ScopeDefinition>>;

/** The scopes of a server. */
export interface Scopes {
  /** All there are, those that are needed somewhere first. */
  supported: readonly string[];
  /** Those that every sign-in asks for. */
  usual: readonly string[];
  /** Words for people, where the author found some. */
  words: ReadonlyMap<string, string>;
}

/** The scopes that are needed somewhere, and those that are defined. */
export function scopesOf(
  needed: Iterable<string>,
  definitions: ScopeDefinitions = {},
): Scopes {
  const supported = [...new Set([...needed, ...Object.keys(definitions)])];
  const waits = (scope: string) => {
    const definition = Object.hasOwn(definitions, scope)
      ? definitions[scope]
      : undefined;
    return typeof definition === "object" && definition.stepUp === true;
  };
  return {
    supported,
    usual: supported.filter((scope) => !waits(scope)),
    words: new Map(
      Object.entries(definitions).map(([scope, definition]) => [
        scope,
        typeof definition === "string" ? definition : definition.description,
      ]),
    ),
  };
}

/** RFC 6749 appendix A.4. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** What is wrong with definitions of scopes. */
export function scopeComplaints(definitions: ScopeDefinitions = {}): string[] {
  return Object.keys(definitions).filter((scope) => !SCOPE.test(scope)).map(
    (scope) =>
      `scope ${scope}: must be visible ASCII without quotes and backslashes`,
  );
}
