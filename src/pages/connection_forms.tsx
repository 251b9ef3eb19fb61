/** @jsxImportSource @hono/hono/jsx */
/**
 * The forms by which a person ends connections, pauses them, and takes scopes
 * away.
 *
 * @module
 */
import type { ScopeInWords } from "./consent_page.tsx";

interface FormProps {
  /** Path of the public address; empty at a root. */
  base?: string;
  grantId: string;
  csrf: string;
  /** The connection's name, for people who hear a button without its row. */
  of: string;
}

/** A button that ends grants, or for an operator all that someone has. */
export function EndForm(
  { base = "", csrf, label, of, ...ended }:
    & {
      base?: string;
      csrf: string;
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
      <input type="hidden" name="csrf" value={csrf} />
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
    base,
    connection: { grantId, pausedAt, isPassing },
    grantIds = [grantId],
    csrf,
    of,
  }: {
    base?: string;
    /** The grants that end; by default one, with all of its connection. */
    grantIds?: readonly string[];
    connection: {
      grantId: string;
      /** Undefined: it is not paused. */
      pausedAt?: number;
      /** True if its client gets another grant without asking. */
      isPassing?: boolean;
    };
    csrf: string;
    of: string;
  },
) {
  return (
    <div class="buttons">
      {!isPassing && (
        <PauseForm
          base={base}
          grantId={grantId}
          isPaused={pausedAt !== undefined}
          csrf={csrf}
          of={of}
        />
      )}
      <EndForm
        base={base}
        grantIds={grantIds}
        csrf={csrf}
        label="End"
        of={of}
      />
    </div>
  );
}

/** A button that pauses a connection, or resumes it. */
function PauseForm(
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

/** Boxes for the scopes of a connection, closed at first. */
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
