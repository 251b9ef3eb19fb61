/** @jsxImportSource @hono/hono/jsx */
/**
 * Scopes with a box for each, which a person unticks if they do not give the
 * scope; and the list of the meanings of scopes.
 *
 * @module
 */
import { displayName, shownMessage } from "./names.tsx";
import type { ScopeInWords } from "./scopes.ts";

/**
 * The name of a field that a form with boxes for scopes sends. Without it, a
 * form with no box ticked would look like one that has no boxes. It is not a
 * hidden field: programs that submit this page in place of a person copy only
 * hidden fields, and mean to approve everything.
 */
export const BOXES = "boxes";

/** The most characters of a scope's words. */
const MAX_CHARACTERS = 300;

/** The largest number of scopes that are shown without groups. */
const MAX_UNGROUPED = 7;

interface BoxesProps {
  scopes: readonly ScopeInWords[];
  /** Returns the attributes of a scope's box. */
  box(scope: ScopeInWords): { name: string; value: string; checked?: boolean };
}

/** The choice of a consent: a box for each scope that can be left out. */
export function ScopeChoice({ scopes }: Pick<BoxesProps, "scopes">) {
  const count = countBoxes(scopes);
  return (
    <div data-boxes>
      {count > 0 && (
        <select name={BOXES} hidden>
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

/** Counts the scopes that a person may leave out: each has a box. */
export function countBoxes(scopes: BoxesProps["scopes"]): number {
  return scopes.filter(({ isFixed }) => !isFixed).length;
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

/** A box for each scope; many are grouped by the first part of their names. */
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

/** A group of scopes. Closed, it shows their meanings; open, their boxes. */
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

/** Makes a scope's words fit to show: they may be another server's. */
function shown(words: string): string {
  return shownMessage(words, MAX_CHARACTERS);
}

/** Ends an author's words with a full stop, so that others can follow. */
function withFullStop(words: string): string {
  return /\p{Terminal_Punctuation}$/u.test(words) ? words : `${words}.`;
}

/**
 * Buttons that tick all boxes of the element around them, or none. A script
 * makes the buttons visible.
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

/** The most titles that are shown for one scope. */
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

/** The most scopes whose words are shown without a click. */
const MAX_WORDS_SHOWN = 6;

/** The meaning of scopes, a line each, if there are any. */
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
