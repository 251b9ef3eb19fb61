/** @jsxImportSource @hono/hono/jsx */
/**
 * An account at another service that a person has connected, on pages.
 *
 * @module
 */
import type { ListedAccount } from "../store/accounts.ts";
import { AccountForm, type FormPage } from "./layout.tsx";
import { displayName } from "./names.tsx";
import { Moment } from "./times.tsx";

/** The name of an account, or words where it has none. */
export function AccountName({ label }: Pick<ListedAccount, "label">) {
  return label === undefined ? <>an account without a name</> : (
    <strong>
      <bdi>{displayName(label)}</bdi>
    </strong>
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
      asked?: { id: string };
      now: number;
    },
) {
  const { id, label, createdAt, refusedAt } = account;
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
