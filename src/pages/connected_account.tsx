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
  return label === undefined ? <>a key without a name</> : (
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
        <AccountForm
          base={base}
          csrf={csrf}
          action={`/connect/${name}`}
          fields={{ account: id, ...asked && { w: asked.id } }}
        >
          <p class="note warn">
            {title} did not take its key <Moment at={refusedAt} now={now} />.
          </p>
          <button class="quiet" type="submit" name="answer" value="again">
            Try it again
          </button>
        </AccountForm>
      )}
    </>
  );
}
