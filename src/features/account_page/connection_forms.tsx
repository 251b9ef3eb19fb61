/** @jsxImportSource @hono/hono/jsx */
/**
 * The forms that pause, narrow and end connections.
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
 * A button for an irreversible action. It opens an explanation with the form
 * that does the action.
 */
export function AskedOnce(
  { label, of, children }: {
    label: string;
    /**
     * The object of the action, for screen readers that read the button alone.
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
 * The button and form that end grants or, for an operator, everything of a
 * person or machine.
 */
export function EndForm(
  { label, of, grantIds, subject = "", children, ...form }:
    & FormPage
    & {
      label: string;
      of: string;
      children: Child;
    }
    & (
      | { grantIds: readonly string[]; subject?: undefined }
      | { subject: string; grantIds?: undefined }
    ),
) {
  const ended: Record<string, string> = grantIds
    ? { grants: grantIds.join(" ") }
    // Encoded, because forms change line breaks.
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
      /** The name, for screen readers that read a button without its row. */
      name: string;
      /** The name in the row. */
      title: Child;
      /**
       * The grants that the End button ends; the first identifies the
       * connection.
       */
      grantIds: readonly string[];
      scopes: readonly ScopeInWords[];
      /** The tools that the client may call as the person. */
      tools?: readonly ToolInWords[];
      /**
       * True if the client can get its next grant without asking the person.
       */
      hasSingleToken?: boolean;
      isPaused: boolean;
      /** The explanation of what the End button ends. */
      ends: Child;
      /**
       * The URL of the client's latest calls. Undefined if no calls are stored.
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

/** Checkboxes to revoke scopes, closed at first. */
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
