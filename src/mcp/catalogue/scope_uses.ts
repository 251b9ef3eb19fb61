/**
 * The uses of each scope: the things that need it.
 *
 * @module
 */
import type { Described } from "../../authoring/context.ts";

/** An item that needs a scope, in its author's words. */
export interface ScopeUse {
  /** For people: its title, or its name. */
  title: string;
  /** A description of it. */
  words: string;
  /** All the scopes it needs. */
  scopes: readonly string[];
}

/** Collects the things that need each scope. */
export function collectScopes(
  items: readonly Described[],
): ReadonlyMap<string, readonly ScopeUse[]> {
  const scopes = new Map<string, ScopeUse[]>();
  for (
    const { scopes: needed = [], name, title = name, description } of items
  ) {
    for (const scope of needed) {
      const uses = scopes.get(scope) ?? [];
      uses.push({ title, words: description ?? title, scopes: needed });
      scopes.set(scope, uses);
    }
  }
  return scopes;
}
