/** @jsxImportSource @hono/hono/jsx */
/**
 * The form by which a person connects an account, and its parts.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { ListedAccount } from "./accounts.ts";
import { ServiceForm, type WaitingCall } from "./connected_account.tsx";
import { NameField } from "../account_page/token_section.tsx";
import { displayName } from "../../core/pages/names.tsx";
import { FactRow, type PageProps } from "../../core/pages/layout.tsx";

/** The service that the page is about. */
interface ServiceInWords {
  name: string;
  title: string;
  host: string;
  /** The author's text on where the service issues keys. */
  help?: string;
  /** The scopes to request; undefined for pasted keys. */
  scopes?: readonly string[];
  /** OpenID scopes that are also requested if the service supports them. */
  usual?: readonly string[];
  /** True if a person may connect several accounts there. */
  several?: boolean;
  /** True if the person has to name the account. */
  asksLabel: boolean;
}

export interface ConnectProps extends PageProps, ServiceInWords {
  person: string;
  /** The person's accounts at the service. */
  connected: readonly ListedAccount[];
  /** The call that waits for an account. */
  asked?: WaitingCall;
  csrf: string;
  now: number;
}

export function ScopeNames({ scopes }: { scopes: readonly string[] }) {
  return (
    <>
      {scopes.map((scope, index) => (
        <>
          {index > 0 && ", "}
          <code>{scope}</code>
        </>
      ))}
    </>
  );
}

export function LabelField() {
  return (
    <NameField
      label="What to call this account"
      name="label"
      placeholder="Such as: work"
    />
  );
}

/** The reason why nothing was stored, if there is one. */
export function NothingKept({ refusal }: { refusal?: string }) {
  if (refusal === undefined) return null;
  return <p class="note warn" role="alert">{refusal} Nothing was kept.</p>;
}

/** The person who is signed in. */
export function SignedInAs(
  { base = "", person }: Pick<ConnectProps, "base" | "person">,
) {
  return (
    <FactRow term="As whom">
      You are signed in as{" "}
      <strong>
        <bdi>{displayName(person)}</bdi>
      </strong>. Not you? <a href={`${base}/account`}>Sign out</a> first.
    </FactRow>
  );
}

/** The form with its buttons, which also sends the ID of the waiting call. */
export function ConnectForm(
  { label, backTo, children, ...page }:
    & Pick<ConnectProps, "base" | "csrf" | "name" | "asked">
    & {
      label: string;
      fields?: Readonly<Record<string, string>>;
      /** The service's title, if there is a button that leads there again. */
      backTo?: string;
      children?: Child;
    },
) {
  return (
    <ServiceForm {...page}>
      {children}
      <div class="actions">
        <button class="primary" type="submit" name="answer" value="connect">
          {label}
        </button>
        {backTo !== undefined && (
          <button type="submit" name="answer" value="back" formnovalidate>
            Go to {backTo} again
          </button>
        )}
        <button type="submit" name="answer" value="not-now" formnovalidate>
          Not now
        </button>
      </div>
    </ServiceForm>
  );
}
