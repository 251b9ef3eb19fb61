/** @jsxImportSource @hono/hono/jsx */
/** Parts of pages that show a connected account. */
import type { Child } from "@hono/hono/jsx";
import type { ListedAccount } from "./accounts.ts";
import { AccountForm, type FormPage } from "../../core/pages/layout.tsx";
import {
  type ClientInWords,
  displayName,
  type ToolInWords,
  ToolTitle,
} from "../../core/pages/names.tsx";
import { PastTime } from "../../core/pages/times.tsx";

/** The name of an account, or a phrase if it has none. */
export function AccountName({ label }: Pick<ListedAccount, "label">) {
  return label === undefined ? <>an account without a name</> : (
    <strong>
      <bdi>{displayName(label)}</bdi>
    </strong>
  );
}

/** A call or task that waits for an account. */
export interface WaitingCall extends ToolInWords {
  /** The ID of the call's open question. */
  id: string;
  client: ClientInWords;
  /** The account with which the call must continue. */
  begun?: {
    label?: string;
    /** The IDs of the person's other accounts at the service. */
    others: readonly string[];
  };
}

/** A note that the call waits for the account that it began with. */
export function WaitsForAccount({ asked }: { asked?: WaitingCall }) {
  if (!asked?.begun) return null;
  return (
    <>
      <ToolTitle tool={asked.tool} toolTitle={asked.toolTitle} /> has begun with
      {" "}
      <AccountName label={asked.begun.label} />, and waits for that account.
    </>
  );
}

/** The page of a service, opened for a waiting call or by itself. */
interface ServicePage extends FormPage {
  name: string;
  asked?: WaitingCall;
}

/** A form that posts to a service's page. */
export function ServiceForm(
  { base, csrf, name, asked, fields, children }: ServicePage & {
    fields?: Readonly<Record<string, string>>;
    children: Child;
  },
) {
  return (
    <AccountForm
      base={base}
      csrf={csrf}
      action={`/connect/${name}`}
      fields={{ ...fields, ...asked && { w: asked.id } }}
      autocomplete="off"
    >
      {children}
    </AccountForm>
  );
}

/** The button that lets the waiting call continue with another account. */
export function ContinueWith(
  { account: { id, label }, ...page }: ServicePage & { account: ListedAccount },
) {
  const { begun } = page.asked ?? {};
  if (!begun?.others.includes(id)) return null;
  return (
    <ServiceForm {...page} fields={{ account: id }}>
      <button class="quiet" type="submit" name="answer" value="go-on">
        Let it go on with{" "}
        {label === undefined ? "this account" : <bdi>{displayName(label)}</bdi>}
      </button>
      <p class="small soft">
        All other work that has begun with <AccountName label={begun.label} />
        {" "}
        then goes on with it too.
      </p>
    </ServiceForm>
  );
}

/**
 * A connected account, with a retry button if the service refused its key or
 * token.
 */
export function ConnectedAccount(
  { title, now, account, ...page }: ServicePage & {
    title: string;
    account: ListedAccount;
    now: number;
  },
) {
  const { id, label, createdAt, refusedAt, scopes } = account;
  return (
    <>
      <p>
        <AccountName label={label} />, connected{" "}
        <PastTime at={createdAt} now={now} />
      </p>
      {refusedAt !== undefined && (
        <p class="note warn">
          <RefusalNote title={title} account={account} now={now} />
        </p>
      )}
      {refusedAt !== undefined && scopes === undefined && (
        <ServiceForm {...page} fields={{ account: id }}>
          <button class="quiet" type="submit" name="answer" value="again">
            Try it again
          </button>
        </ServiceForm>
      )}
      {refusedAt === undefined && <ContinueWith {...page} account={account} />}
    </>
  );
}

/** A note that the service refused an account's key or token. */
export function RefusalNote(
  { title, account: { scopes, refusedAt = 0 }, now }: {
    title: string;
    account: Pick<ListedAccount, "scopes" | "refusedAt">;
    now: number;
  },
) {
  return (
    <>
      {title} did not take its {scopes === undefined ? "key" : "token"}{" "}
      <PastTime at={refusedAt} now={now} />.
    </>
  );
}
