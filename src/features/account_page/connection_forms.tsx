/** @jsxImportSource @hono/hono/jsx */
/**
 * The forms by which a person ends connections, pauses them, and takes scopes
 * away.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { AccountForm, type FormPage } from "../../core/pages/layout.tsx";
import { ScopeFields } from "../../core/pages/scope_boxes.tsx";
import {
  AllTools,
  NamedTools,
  type ToolInWords,
} from "../../core/pages/names.tsx";
import type { ScopeInWords } from "../../core/pages/scopes.ts";

/**
 * A button for an action that cannot be undone. The button opens an explanation
 * and the form that does the action.
 */
export function AskedOnce(
  { label, of, children }: {
    label: string;
    /**
     * The name of what the action is about, for screen readers, which may read
     * the button alone.
     */
    of: string;
    children: Child;
  },
) {
  return (
    <details class="asked" name="asked">
      <summary class="button quiet danger">
        {label}
        <span class="visually-hidden">{` ${of}`}</span>
      </summary>
      <div class="asked-for">{children}</div>
    </details>
  );
}

/**
 * The button and form that end grants; or, for an operator, everything that a
 * person or a machine has.
 */
export function EndForm(
  { label, of, grantIds, subject = "", children, ...form }:
    & FormPage
    & {
      label: string;
      /** The name of what is ended. */
      of: string;
      /** The explanation of what is ended. */
      children: Child;
    }
    & (
      | { grantIds: readonly string[]; subject?: undefined }
      | { subject: string; grantIds?: undefined }
    ),
) {
  const ended: Record<string, string> = grantIds
    ? { grants: grantIds.join(" ") }
    // The subject is encoded, because a form would change its line breaks.
    : { subject: encodeURIComponent(subject.toWellFormed()) };
  return (
    <AskedOnce label={label} of={of}>
      <p class="small">{children}</p>
      <AccountForm {...form} action="/account/end" fields={ended}>
        <button class="quiet danger" type="submit">
          {label} <bdi>{of}</bdi>
        </button>
      </AccountForm>
    </AskedOnce>
  );
}

/** The row of a connection or an access token, with its forms. */
export function ConnectionRow(
  {
    name,
    title,
    grantIds,
    scopes,
    tools = [],
    hasSingleToken,
    isPaused,
    ends,
    ...rest
  }:
    & FormPage
    & {
      /**
       * The name, for screen readers, which may read a button without its row.
       */
      name: string;
      /** The name, as the row shows it. */
      title: Child;
      /**
       * The grants that the End button ends. The first one identifies the
       * connection.
       */
      grantIds: readonly string[];
      scopes: readonly ScopeInWords[];
      /** The tools that the client may use in the person's name. */
      tools?: readonly ToolInWords[];
      /** True if the client gets its next grant without asking the person. */
      hasSingleToken?: boolean;
      isPaused: boolean;
      /** The explanation of what the End button ends. */
      ends: Child;
      /**
       * The URL of the client's latest calls; undefined if no calls are stored.
       */
      callsHref?: string;
      children: Child;
    },
) {
  const { callsHref, children, ...form } = rest;
  const grant = { grant: grantIds[0] };
  return (
    <li>
      <div class="row-head">
        <h2 class="row-title">{title}</h2>
        <div class="buttons">
          {!hasSingleToken && (
            <AccountForm
              {...form}
              action={isPaused ? "/account/resume" : "/account/pause"}
              fields={grant}
            >
              <button class="quiet" type="submit">
                {isPaused ? "Resume" : "Pause"}
                <span class="visually-hidden">{` ${name}`}</span>
              </button>
            </AccountForm>
          )}
          <EndForm {...form} grantIds={grantIds} label="End" of={name}>
            {ends}
          </EndForm>
        </div>
      </div>
      {children}
      {tools.length > 0 && (
        <p class="small soft">
          It may use <NamedTools tools={tools} />.
        </p>
      )}
      <AllTools tools={tools} />
      {callsHref !== undefined && (
        <p class="small">
          <a href={callsHref}>
            Latest calls<span class="visually-hidden">{` of ${name}`}</span>
          </a>
        </p>
      )}
      <NarrowForm {...form} grant={grant} scopes={scopes} of={name} />
    </li>
  );
}

/** Boxes for the scopes that a person may take away, closed at first. */
function NarrowForm(
  { grant, scopes, of, ...form }: FormPage & {
    grant: Readonly<Record<string, string>>;
    scopes: readonly ScopeInWords[];
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
        action="/account/narrow"
        fields={grant}
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
