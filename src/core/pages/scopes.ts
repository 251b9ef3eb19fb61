/**
 * Descriptions of scopes for people.
 *
 * @module
 */
import { OFFLINE_ACCESS } from "../oauth/scope.ts";
import type { ScopeUse } from "../catalogue/descriptions.ts";

/** One scope with its description: "Finds mail. Reads mail." */
export interface ScopeInWords {
  scope: string;
  words: string;
  /** Titles of the tools, resources and prompts that need the scope. */
  opens?: readonly string[];
  /**
   * True if every approval includes the scope, so that it cannot be refused.
   */
  isFixed?: boolean;
  /**
   * True if the person revoked the scope earlier, so that its checkbox is not
   * ticked.
   */
  isRevoked?: boolean;
}

/**
 * Describes each scope: by the author's description, or else with one sentence
 * for each tool, resource or prompt (`ScopeUse`) that needs it. Leaves out
 * items that also need a scope outside the list.
 */
export function scopesInWords(
  scopes: readonly string[],
  { uses, words }: {
    /**
     * The scopes, each with the definitions that need it (`catalogue.scopes`).
     */
    uses: ReadonlyMap<string, readonly ScopeUse[]>;
    /** The author's descriptions of scopes. */
    words?: ReadonlyMap<string, string>;
  },
): ScopeInWords[] {
  return scopes.map((scope) => {
    const open = uses.get(scope)?.filter((use) =>
      use.scopes.every((scope) => scopes.includes(scope))
    );
    return {
      scope,
      words: words?.get(scope) ?? (open && wordsOf(open)) ??
        STANDARD.get(scope) ?? "Nothing that this server's tools need.",
      ...open && open.length > 0 && { opens: open.map(({ title }) => title) },
      ...scope === OFFLINE_ACCESS && { isFixed: true },
    };
  });
}

function wordsOf(open: readonly ScopeUse[]): string {
  return open.length > 0
    ? open.map(({ words }) => firstSentence(words)).join(" ")
    : "Nothing without further permissions.";
}

/**
 * Returns the first sentence, because descriptions for models may have many.
 */
export function firstSentence(text: string): string {
  const [sentence] = /^.*?[.!?](?=\s|$)/.exec(text.trim()) ?? [];
  return sentence ?? `${text.trim().split("\n")[0]}.`;
}

/** Scopes of OpenID Connect Core §5.4 and §11, which no tool describes. */
const STANDARD: ReadonlyMap<string, string> = new Map([
  ["openid", "Know that it is you."],
  ["profile", "See your name and picture."],
  ["email", "See your e-mail address."],
  [OFFLINE_ACCESS, "Stay connected while you are away."],
]);
