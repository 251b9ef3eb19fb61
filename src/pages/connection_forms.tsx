/** @jsxImportSource @hono/hono/jsx */
/**
 * The forms by which a person ends connections, pauses them, and takes scopes
 * away.
 *
 * @module
 */
import type { ScopeInWords } from "./consent_page.tsx";

/** The page of the account that a form is on. */
export interface FormPage {
  /** Path of the public address; empty at a root. */
  base?: string;
  /** The CSRF token of this rendering. */
  csrf: string;
  /** The place to come back to; absent: the first part. */
  back?: string;
}

interface FormProps extends FormPage {
  grantId: string;
  /** The connection's name, for people who hear a button without its row. */
  of: string;
}

/** The fields that every form of the account has. */
export function FormFields({ csrf, back }: FormPage) {
  return (
    <>
      <input type="hidden" name="csrf" value={csrf} />
      {back && <input type="hidden" name="back" value={back} />}
    </>
  );
}

/** A button that ends grants, or for an operator all that someone has. */
export function EndForm(
  { base = "", csrf, back, label, of, ...ended }:
    & FormPage
    & {
      label: string;
      /**
       * The name of what is ended, for people who hear the button without its
       * row.
       */
      of: string;
    }
    & ({ grantIds: readonly string[] } | { subject: string }),
) {
  return (
    <form method="post" action={`${base}/account/end`}>
      <FormFields csrf={csrf} back={back} />
      {"grantIds" in ended
        ? <input type="hidden" name="grants" value={ended.grantIds.join(" ")} />
        // Encoded: a form would change its line breaks.
        : (
          <input
            type="hidden"
            name="subject"
            value={encodeURIComponent(ended.subject.toWellFormed())}
          />
        )}
      <button class="quiet danger" type="submit">
        {label}
        <span class="visually-hidden">{` ${of}`}</span>
      </button>
    </form>
  );
}

/** The buttons that a connection shows at once. */
export function ConnectionButtons(
  {
    connection: { grantId, pausedAt, isPassing },
    grantIds = [grantId],
    of,
    ...form
  }: FormPage & {
    /** The grants that end; by default one, with all of its connection. */
    grantIds?: readonly string[];
    connection: {
      grantId: string;
      /** Undefined: it is not paused. */
      pausedAt?: number;
      /** True if its client gets another grant without asking. */
      isPassing?: boolean;
    };
    of: string;
  },
) {
  return (
    <div class="buttons">
      {!isPassing && (
        <PauseForm
          {...form}
          grantId={grantId}
          isPaused={pausedAt !== undefined}
          of={of}
        />
      )}
      <EndForm {...form} grantIds={grantIds} label="End" of={of} />
    </div>
  );
}

/** A button that pauses a connection, or resumes it. */
function PauseForm(
  { base = "", grantId, of, isPaused, ...form }: FormProps & {
    isPaused: boolean;
  },
) {
  return (
    <form
      method="post"
      action={`${base}/account/${isPaused ? "resume" : "pause"}`}
    >
      <FormFields {...form} />
      <input type="hidden" name="grant" value={grantId} />
      <button class="quiet" type="submit">
        {isPaused ? "Resume" : "Pause"}
        <span class="visually-hidden">{` ${of}`}</span>
      </button>
    </form>
  );
}

/** Boxes for the scopes of a connection, closed at first. */
export function NarrowForm(
  { base = "", grantId, of, removable = [], ...form }: FormProps & {
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
        <FormFields {...form} />
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
                {words} <code>{scope}</code>
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
