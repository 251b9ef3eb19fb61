/** @jsxImportSource @hono/hono/jsx */
/**
 * An account at another service that a person has connected, on pages.
 *
 * @module
 */
import type { ListedAccount } from "./accounts.ts";
import { AccountForm, type FormPage } from "../../core/pages/layout.tsx";
import {
  type ClientInWords,
  displayName,
  type ToolInWords,
  ToolTitle,
} from "../../core/pages/names.tsx";
import { Moment } from "../../core/pages/times.tsx";

/** The name of an account, or words where it has none. */
export function AccountName({ label }: Pick<ListedAccount, "label">) {
  return label === undefined ? <>an account without a name</> : (
    <strong>
      <bdi>{displayName(label)}</bdi>
    </strong>
  );
}

/** A call, or work, that waits for an account. */
export interface AskingInWords extends ToolInWords {
  /** Names its wait. */
  id: string;
  client: ClientInWords;
  /** The account that it has begun with, if it goes on with no other. */
  begun?: {
    label?: string;
    /** The ids of the person's other accounts there. */
    others: readonly string[];
  };
}

/** The words for what goes on with the account alone that it has begun with. */
export function WaitsForAccount({ asked }: { asked?: AskingInWords }) {
  if (!asked?.begun) return null;
  return (
    <>
      <ToolTitle tool={asked.tool} toolTitle={asked.toolTitle} /> has begun with
      {" "}
      <AccountName label={asked.begun.label} />, and waits for that account.
    </>
  );
}

/** The button by which a person lets it go on with another account. */
export function GoOnWith(
  { base, csrf, name, asked, account: { id, label } }: FormPage & {
    name: string;
    asked?: AskingInWords;
    account: ListedAccount;
  },
) {
  if (!asked?.begun?.others.includes(id)) return null;
  return (
    <AccountForm
      base={base}
      csrf={csrf}
      action={`/connect/${name}`}
      fields={{ account: id, w: asked.id }}
    >
      <button class="quiet" type="submit" name="answer" value="go-on">
        Let it go on with{" "}
        {label === undefined ? "this account" : <bdi>{displayName(label)}</bdi>}
      </button>
      <p class="small soft">
        All other work that has begun with{" "}
        <AccountName label={asked.begun.label} /> then goes on with it too.
      </p>
    </AccountForm>
  );
}

/** An account that is there, with a button if the service refused its key. */
export function ConnectedAccount(
  { base, csrf, name, asked, title, now, account }:
    & FormPage
    & {
      name: string;
      title: string;
      account: ListedAccount;
      asked?: AskingInWords;
      now: number;
    },
) {
  const { id, label, createdAt, refusedAt } = account;
  const page = { base, csrf, name, asked };
  return (
    <>
      <p>
        <AccountName label={label} />, connected{" "}
        <Moment at={createdAt} now={now} />
      </p>
      {refusedAt !== undefined && (
        <p class="note warn">
          <Refused title={title} account={account} now={now} />
        </p>
      )}
      {refusedAt !== undefined && account.scopes === undefined && (
        <AccountForm
          base={base}
          csrf={csrf}
          action={`/connect/${name}`}
          fields={{ account: id, ...asked && { w: asked.id } }}
        >
          <button class="quiet" type="submit" name="answer" value="again">
            Try it again
          </button>
        </AccountForm>
      )}
      {refusedAt === undefined && <GoOnWith {...page} account={account} />}
    </>
  );
}

/** The words for an account that its service has refused. */
export function Refused(
  { title, account: { scopes, refusedAt = 0 }, now }: {
    title: string;
    account: Pick<ListedAccount, "scopes" | "refusedAt">;
    now: number;
  },
) {
  return (
    <>
      {title} did not take its {scopes === undefined ? "key" : "token"}{" "}
      <Moment at={refusedAt} now={now} />.
    </>
  );
}
