/** @jsxImportSource @hono/hono/jsx */
/**
 * Scopes with a checkbox each, which a person unticks to refuse the scope; and
 * the list of what scopes allow.
 *
 * @module
 */
import { displayName, shownMessage } from "./names.tsx";
import type { ScopeInWords } from "./scopes.ts";

/**
 * The name of a field that every form with checkboxes for scopes sends. Without
 * it, a form in which no box is ticked would look like a form without
 * checkboxes. It is not a hidden field: programs that submit the page in place
 * of a person copy only hidden fields, and mean to approve everything.
 */
export const BOXES_FIELD = "boxes";

const MAX_CHARACTERS = 300;

/** The maximum number of scopes that are shown without groups. */
const MAX_UNGROUPED = 7;

interface BoxesProps {
  scopes: readonly ScopeInWords[];
  /** Returns the attributes of a scope's checkbox. */
  box(scope: ScopeInWords): { name: string; value: string; checked?: boolean };
}

/**
 * Shows the scopes on the consent page: a checkbox for each that can be
 * refused.
 */
export function ScopeChoice({ scopes }: Pick<BoxesProps, "scopes">) {
  const count = countBoxes(scopes);
  return (
    <div data-boxes>
      {count > 0 && (
        <select name={BOXES_FIELD} hidden>
          <option value="1" selected></option>
        </select>
      )}
      <ScopeBoxes
        scopes={scopes}
        box={({ scope, isRevoked }) => ({
          name: "scope",
          value: scope,
          checked: !isRevoked,
        })}
      />
      {count > 0 && (
        <p class="small soft">
          Untick what you do not want to give.{" "}
          {count > 1 && <TickButtons of="permissions" />}
        </p>
      )}
    </div>
  );
}

/** Counts the scopes that a person can refuse, which have checkboxes. */
export function countBoxes(scopes: BoxesProps["scopes"]): number {
  return scopes.filter(({ isFixed }) => !isFixed).length;
}

/** Shows the scopes in a form of the account page, with a checkbox each. */
export function ScopeFields(
  { legend, scopes, checked }: {
    legend: string;
    scopes: readonly ScopeInWords[];
    /** True if the checkboxes are ticked at first. */
    checked?: boolean;
  },
) {
  return (
    <fieldset data-boxes>
      <legend>{legend}</legend>
      <ScopeBoxes
        scopes={scopes}
        box={({ scope }) => ({ name: `scope.${scope}`, value: "on", checked })}
      />
      {scopes.length > 1 && (
        <p class="small soft">
          <TickButtons of="permissions" />
        </p>
      )}
    </fieldset>
  );
}

/**
 * Shows checkboxes for scopes; if there are many, grouped by the first part of
 * their names.
 */
function ScopeBoxes({ scopes, box }: BoxesProps) {
  const groups = scopes.length > MAX_UNGROUPED
    ? [...Map.groupBy(scopes, ({ scope }) => scope.split(/[:./]/)[0])]
    : [["", scopes] as const];
  const [folded, plain] = [
    groups.filter(([name, members]) => name && members.length > 1),
    groups.filter(([name, members]) => !name || members.length === 1),
  ];
  return (
    <>
      {folded.map(([name, members]) => (
        <ScopeGroup name={name} scopes={members} box={box} />
      ))}
      {plain.length > 0 && (
        <ScopeList scopes={plain.flatMap(([, members]) => members)} box={box} />
      )}
    </>
  );
}

/**
 * Shows a group of scopes. Closed, it shows what the scopes allow; open, their
 * checkboxes.
 */
function ScopeGroup({ name, scopes, box }: BoxesProps & { name: string }) {
  const ticked = scopes.filter((scope) => box(scope).checked);
  return (
    <details class="group" data-boxes>
      <summary>
        {name}
        <span class="badge" data-ticked>
          {ticked.length} of {scopes.length}
        </span>
        <span class="small soft folded">
          <bdi>
            {scopes.map(({ words }) => withFullStop(shown(words))).join(" ")}
          </bdi>
        </span>
      </summary>
      <p class="buttons">
        <TickButtons of={name} />
      </p>
      <ScopeList scopes={scopes} box={box} />
    </details>
  );
}

/** Cleans a scope's description, which may come from another server. */
function shown(words: string): string {
  return shownMessage(words, MAX_CHARACTERS);
}

/** Adds a full stop to an author's text, so that more text can follow. */
function withFullStop(words: string): string {
  return /\p{Terminal_Punctuation}$/u.test(words) ? words : `${words}.`;
}

/**
 * Shows buttons that tick all checkboxes of the element around them, or none. A
 * script makes the buttons visible.
 */
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

/** The maximum number of titles that are shown for one scope. */
const MAX_TITLES = 6;

function ScopeList({ scopes, box }: BoxesProps) {
  return (
    <ul class="scopes">
      {scopes.map((member) => <ScopeItem {...member} box={box(member)} />)}
    </ul>
  );
}

function ScopeItem(
  { scope, words, opens = [], isFixed, isRevoked, box }:
    & ScopeInWords
    & { box: ReturnType<BoxesProps["box"]> },
) {
  const more = opens.length - MAX_TITLES;
  const meaning = <bdi>{shown(words)}</bdi>;
  return (
    <li>
      {isFixed ? meaning : (
        <label class="scope">
          <input type="checkbox" {...box} /> {meaning}
        </label>
      )} <code>{scope}</code>
      {isRevoked && <p class="small soft">You took this away before.</p>}
      {opens.length > 0 && (
        <p class="small soft">
          Opens {opens.slice(0, MAX_TITLES).map((title, index) => (
            <>
              {index > 0 && ", "}
              <bdi>{displayName(title, "one without a name")}</bdi>
            </>
          ))}
          {more > 0 && ` and ${more} more`}
        </p>
      )}
    </li>
  );
}

/**
 * The maximum number of scopes whose descriptions are shown without a click.
 */
const MAX_WORDS_SHOWN = 6;

/** Shows the descriptions of scopes, one per line; nothing without scopes. */
export function MayUse({ scopes }: Pick<BoxesProps, "scopes">) {
  if (scopes.length === 0) return null;
  const more = scopes.length - MAX_WORDS_SHOWN;
  return (
    <div class="small soft">
      It may:
      <ul>
        {scopes.slice(0, MAX_WORDS_SHOWN).map(({ scope, words }) => (
          <li>
            <bdi>{shown(words)}</bdi> <code>{scope}</code>
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </div>
  );
}
