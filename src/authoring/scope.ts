/**
 * Scopes in an author's words.
 *
 * @module
 */

import * as kinds from "./options.ts";

/**
 * The descriptions of scopes for people, such as "Read your mail", by scope.
 * With `stepUp` no sign-in requests the scope: the client is asked to request
 * it when a tool, resource or prompt first needs it.
 */
export type ScopeDefinitions = Readonly<
  Record<string, string | { description: string; stepUp?: boolean }>
>;

/** The scopes of a server. */
export interface Scopes {
  /** All scopes; those that a tool, resource or prompt needs come first. */
  supported: readonly string[];
  /** The scopes that every sign-in requests. */
  usual: readonly string[];
  /** The author's descriptions for people, by scope. */
  words: ReadonlyMap<string, string>;
}

/** Collects the scopes that are needed and those that are defined. */
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

/**
 * Finds probable mistakes in definitions of scopes: a definition that no tool,
 * resource, prompt or skill needs, and, if there are definitions, a needed
 * scope without one. Either may be intended: an author's own route may check
 * scopes.
 */
export function scopeDoubts(
  needed: readonly string[],
  definitions: ScopeDefinitions = {},
): { unneeded: string[]; wordless: string[] } {
  const defined = Object.keys(definitions);
  const wordless = defined.length === 0
    ? []
    : [...new Set(needed)].filter((scope) => !defined.includes(scope));
  return {
    unneeded: defined.filter((scope) => !needed.includes(scope)),
    wordless,
  };
}

/** A scope: visible ASCII without quote and backslash (RFC 6749 appendix A.4). */
export const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

export const SCOPE = kinds.textLike(
  "a scope, which is visible ASCII without quotes and backslashes",
  SCOPE_TOKEN,
);

/** Checks a list of scopes. */
export const SCOPE_LIST = kinds.list(SCOPE, "scopes");

/** Checks {@linkcode ScopeDefinitions}. */
export const SCOPE_DEFINITIONS: kinds.Kind<ScopeDefinitions> = kinds.recordOf(
  kinds.either(
    kinds.TEXT,
    kinds.object<Exclude<ScopeDefinitions[string], string>>(
      {
        description: kinds.required(kinds.TEXT),
        stepUp: kinds.FLAG,
      } satisfies kinds.Members<Exclude<ScopeDefinitions[string], string>>,
    ),
  ),
  "an object with a description for each scope",
  SCOPE,
);
