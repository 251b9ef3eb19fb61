/** @jsxImportSource @hono/hono/jsx */
/**
 * The forms by which a person ends connections, pauses them, and takes scopes
 * away.
 *
 * @module
 */
import { AccountForm, type FormPage } from "./form.tsx";
import { ScopeFields, type ScopeInWords } from "./scope_boxes.tsx";

/** A button that ends grants, or for an operator all that someone has. */
export function EndForm(
  { label, of, grantIds, subject = "", ...form }:
    & FormPage
    & {
      label: string;
      /**
       * The name of what is ended, for people who hear the button without its
       * row.
       */
      of: string;
    }
    & (
      | { grantIds: readonly string[]; subject?: undefined }
      | { subject: string; grantIds?: undefined }
    ),
) {
  const ended: Record<string, string> = grantIds
    ? { grants: grantIds.join(" ") }
    // Encoded: a form would change its line breaks.
    : { subject: encodeURIComponent(subject.toWellFormed()) };
  return (
    <AccountForm {...form} to="/account/end" fields={ended}>
      <button class="quiet danger" type="submit">
        {label}
        <span class="visually-hidden">{` ${of}`}</span>
      </button>
    </AccountForm>
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
  const isPaused = pausedAt !== undefined;
  return (
    <div class="buttons">
      {!isPassing && (
        <AccountForm
          {...form}
          to={isPaused ? "/account/resume" : "/account/pause"}
          fields={{ grant: grantId }}
        >
          <button class="quiet" type="submit">
            {isPaused ? "Resume" : "Pause"}
            <span class="visually-hidden">{` ${of}`}</span>
          </button>
        </AccountForm>
      )}
      <EndForm {...form} grantIds={grantIds} label="End" of={of} />
    </div>
  );
}

/** Boxes for the scopes of a connection, closed at first. */
export function NarrowForm(
  { grantId, scopes, of, ...form }: FormPage & {
    grantId: string;
    scopes: readonly ScopeInWords[];
    /** The connection's name, for people who hear a button without its row. */
    of: string;
  },
) {
  const removable = scopes.filter(({ isFixed }) => !isFixed);
  if (removable.length === 0) return null;
  return (
    <details class="small">
      <summary>
        Take permissions away
        <span class="visually-hidden">{` from ${of}`}</span>
      </summary>
      <AccountForm
        {...form}
        to="/account/narrow"
        fields={{ grant: grantId }}
        autocomplete="off"
        class="narrow"
      >
        <ScopeFields
          legend="Untick what it may do no longer"
          scopes={removable}
          checked
        />
        <button class="quiet" type="submit">
          Keep only these
          <span class="visually-hidden">{` for ${of}`}</span>
        </button>
      </AccountForm>
    </details>
  );
}
