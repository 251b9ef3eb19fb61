/** @jsxImportSource @hono/hono/jsx */
/**
 * The forms by which a person pauses a connection, and takes scopes from it.
 *
 * @module
 */
import type { ScopeInWords } from "./consent_page.tsx";

interface FormProps {
  /** Path of the public address; empty at a root. */
  base?: string;
  grantId: string;
  csrf: string;
  /** What it is about, for those who hear a button without its row. */
  of: string;
}

/** A button that pauses a connection, or resumes it. */
export function PauseForm(
  { base = "", grantId, csrf, of, isPaused }: FormProps & {
    isPaused: boolean;
  },
) {
  return (
    <form
      method="post"
      action={`${base}/account/${isPaused ? "resume" : "pause"}`}
    >
      <input type="hidden" name="csrf" value={csrf} />
      <input type="hidden" name="grant" value={grantId} />
      <button class="quiet" type="submit">
        {isPaused ? "Resume" : "Pause"}
        <span class="visually-hidden">{` ${of}`}</span>
      </button>
    </form>
  );
}

/** Boxes for what a connection may do, closed at first. */
export function NarrowForm(
  { base = "", grantId, csrf, of, removable = [] }: FormProps & {
    removable?: readonly ScopeInWords[];
  },
) {
  if (removable.length === 0) return null;
  return (
    <details class="small">
      <summary>
        Take permissions away
        <span class="visually-hidden">{` from ${of}`}</span>
      </summary>
      <form
        method="post"
        action={`${base}/account/narrow`}
        autocomplete="off"
        class="narrow"
      >
        <input type="hidden" name="csrf" value={csrf} />
        <input type="hidden" name="grant" value={grantId} />
        <fieldset>
          <legend>Untick what it may do no longer</legend>
          {removable.map(({ scope, words }) => (
            <label>
              <input
                type="checkbox"
                name={`scope.${scope}`}
                value="on"
                checked
              />{" "}
              <span>
                <code>{scope}</code> {words}
              </span>
            </label>
          ))}
        </fieldset>
        <button class="quiet" type="submit">
          Keep only these
          <span class="visually-hidden">{` for ${of}`}</span>
        </button>
      </form>
    </details>
  );
}
