/** @jsxImportSource @hono/hono/jsx */
/**
 * Scopes in the words of what needs them, with a box for each: a person unticks
 * what they do not give.
 *
 * @module
 */
import { OFFLINE_ACCESS } from "../oauth/scope.ts";
import type { ScopeUse } from "../catalogue/descriptions.ts";

/** One scope and its meaning for people: "Finds mail. Reads mail." */
export interface ScopeInWords {
  scope: string;
  words: string;
  /** Titles of the tools, resources and prompts that need it. */
  opens?: readonly string[];
  /** True if every approval includes it and it cannot be left out. */
  isFixed?: boolean;
  /** True if the person took it away before: its box is not ticked. */
  isWithheld?: boolean;
}

/**
 * The name of a field that a form with boxes for scopes sends. Without it, a
 * form with no box ticked would look like one that has no boxes. It is not a
 * hidden field: programs that answer this page copy only hidden fields, and
 * mean to approve everything.
 */
export const BOXES = "boxes";

/** The largest number of scopes that are shown without groups. */
const UNGROUPED = 7;

/** A box for each scope; if there are many, folded by their first part. */
export function ScopeChoice({ scopes }: { scopes: readonly ScopeInWords[] }) {
  const groups = scopes.length > UNGROUPED
    ? [...Map.groupBy(scopes, ({ scope }) => scope.split(/[:./]/)[0])]
    : [["", scopes] as const];
  const [folded, plain] = [
    groups.filter(([name, members]) => name && members.length > 1),
    groups.filter(([name, members]) => !name || members.length === 1),
  ];
  return (
    <div data-boxes>
      <select name={BOXES} hidden>
        <option value="1" selected></option>
      </select>
      {folded.map(([name, members]) => (
        <ScopeGroup name={name} scopes={members} />
      ))}
      <ul>
        {plain.flatMap(([, members]) => members).map((member) => (
          <ScopeBox {...member} />
        ))}
      </ul>
      <p class="small soft">
        Untick what you do not want to give. <TickButtons of="permissions" />
      </p>
    </div>
  );
}

/** A group of scopes: their meaning is in sight, their boxes are folded. */
function ScopeGroup(
  { name, scopes }: { name: string; scopes: readonly ScopeInWords[] },
) {
  return (
    <details class="group" data-boxes>
      <summary>
        {name}
        <span class="badge" data-ticked>
          {scopes.filter(({ isWithheld }) => !isWithheld).length} of{" "}
          {scopes.length}
        </span>
        <span class="small soft">
          {scopes.map(({ words }) => words).join(" ")}
        </span>
      </summary>
      <p class="buttons">
        <TickButtons of={name} />
      </p>
      <ul>{scopes.map((member) => <ScopeBox {...member} />)}</ul>
    </details>
  );
}

/** Buttons for all boxes around them; a script shows them. */
function TickButtons({ of }: { of: string }) {
  return (
    <>
      {["All", "None"].map((label) => (
        <>
          <button class="quiet" type="button" data-tick={label} hidden>
            {label}
            <span class="visually-hidden">{` of ${of}`}</span>
          </button>
          {" "}
        </>
      ))}
    </>
  );
}

/** The most titles that are shown for one scope. */
const TITLES = 6;

function ScopeBox(
  { scope, words, opens = [], isFixed, isWithheld }: ScopeInWords,
) {
  const more = opens.length - TITLES;
  return (
    <li>
      {isFixed ? words : (
        <label class="scope">
          <input
            type="checkbox"
            name="scope"
            value={scope}
            checked={!isWithheld}
          />{" "}
          {words}
        </label>
      )} <code>{scope}</code>
      {isWithheld && <p class="small soft">You took this away before.</p>}
      {opens.length > 0 && (
        <p class="small soft">
          Opens {opens.slice(0, TITLES).join(", ")}
          {more > 0 && ` and ${more} more`}
        </p>
      )}
    </li>
  );
}

/** The scopes of a form of the account, a box each. */
export function ScopeFields(
  { legend, scopes, checked }: {
    legend: string;
    scopes: readonly ScopeInWords[];
    /** True if the boxes are ticked at first. */
    checked?: boolean;
  },
) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {scopes.map(({ scope, words }) => (
        <label>
          <input
            type="checkbox"
            name={`scope.${scope}`}
            value="on"
            checked={checked}
          />{" "}
          <span>
            {words} <code>{scope}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/**
 * Describes each scope: in the words that the author wrote for it, or else with
 * a sentence for each thing that it opens. A thing that also needs a scope
 * outside the list is left out, because it stays closed.
 */
export function scopesInWords(
  scopes: readonly string[],
  { uses, words }: {
    /** Each scope with the things that need it (`catalogue.scopes`). */
    uses: ReadonlyMap<string, readonly ScopeUse[]>;
    /** An author's words for scopes. */
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

/** Gives the first sentence: descriptions for models go on for paragraphs. */
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
