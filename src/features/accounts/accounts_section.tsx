/** @jsxImportSource @hono/hono/jsx */
/**
 * The list of a person's accounts at other services.
 *
 * @module
 */
import type { ListedAccount } from "./accounts.ts";
import { AskedOnce } from "../account_page/connection_forms.tsx";
import { ScopeNames } from "./connect_form.tsx";
import { AccountName, RefusalNote } from "./connected_account.tsx";
import { AccountForm, type FormPage } from "../../core/pages/layout.tsx";
import { ClientName, displayName, ToolTitle } from "../../core/pages/names.tsx";
import { PastTime } from "../../core/pages/times.tsx";

interface AccountInWords extends ListedAccount {
  title: string;
  /** True if an account at the service can be connected again. */
  isConnectable: boolean;
  /** The title of the tool that last used the account. */
  toolTitle?: string;
  /** The requested scopes that the token response did not name. */
  unnamed?: readonly string[];
  /** True if disconnecting revokes the tokens at the service. */
  isRevoked?: boolean;
}

interface AccountsProps extends FormPage {
  accounts: readonly AccountInWords[];
  /** The services at which the person can connect an account. */
  offered: readonly {
    name: string;
    title: string;
    /** True if the person already has an account there. */
    isMore?: boolean;
  }[];
  /** The titles of services at which accounts cannot be connected now. */
  off?: readonly string[];
  now: number;
}

export function AccountsSection(
  { accounts, offered, off = [], now, ...form }: AccountsProps,
) {
  return (
    <section>
      <div class="card">
        <p class="soft">
          Tools of this server act with them as you, in every app that you have
          connected here. Keys and tokens are kept sealed, and no app sees them.
        </p>
        {off.length > 0 && (
          <p class="note warn">
            Nothing can be connected at {off.join(", ")}{" "}
            now, and no tool can act there: the people who run this server have
            not set it up.
          </p>
        )}
        {accounts.length > 0 && (
          <ul class="rows">
            {accounts.map((account) => (
              <AccountRow {...form} account={account} now={now} />
            ))}
          </ul>
        )}
        {offered.length > 0 && (
          <div class="actions rowed">
            {offered.map(({ name, title, isMore }) => (
              <a class="button" href={`${form.base ?? ""}/connect/${name}`}>
                Connect{isMore && " another"} {title}
              </a>
            ))}
          </div>
        )}
      </div>
    </section>
  );
}

function AccountRow(
  { account, now, ...form }: FormPage & {
    account: AccountInWords;
    now: number;
  },
) {
  const { id, service, title, label, scopes, isConnectable, refusedAt } =
    account;
  const { given = scopes ?? [], unnamed = [] } = account;
  return (
    <li>
      <div class="row-head">
        <h2 class="row-title">{title}</h2>
        <div class="buttons">
          {isConnectable && (
            <a
              class="button quiet"
              href={`${form.base ?? ""}/connect/${service}`}
            >
              Replace<span class="visually-hidden">{` ${title}`}</span>
            </a>
          )}
          <AskedOnce label="Disconnect" of={title}>
            <AfterDisconnecting account={account} />
            <AccountForm
              {...form}
              action="/account/accounts/disconnect"
              fields={{ account: id }}
            >
              <button class="quiet danger" type="submit">
                Disconnect {label === undefined ? title : displayName(label)}
              </button>
            </AccountForm>
          </AskedOnce>
        </div>
      </div>
      <p class="small soft">
        As <AccountName label={label} />, connected{" "}
        <PastTime at={account.createdAt} now={now} />,{" "}
        <LastUse account={account} now={now} />
        {given.length > 0 && (
          <>
            , with the scopes <ScopeNames scopes={given} />
          </>
        )}
        {unnamed.length > 0 && (
          <>
            , not named: <ScopeNames scopes={unnamed} />
          </>
        )}
      </p>
      {refusedAt !== undefined && (
        <p class="note warn">
          <RefusalNote title={title} account={account} now={now} />
          {isConnectable && (
            <>
              {" "}
              <a href={`${form.base ?? ""}/connect/${service}`}>
                {scopes === undefined
                  ? "Replace it, or try it again"
                  : "Connect it again"}
              </a>
            </>
          )}
        </p>
      )}
    </li>
  );
}

/** A sentence on what disconnecting does to the key or tokens. */
function AfterDisconnecting(
  { account: { title, scopes, isRevoked } }: { account: AccountInWords },
) {
  return (
    <p class="small">
      {scopes === undefined
        ? (
          <>
            Its key is deleted here. It stays good at{" "}
            {title}: delete it there too, if no one else needs it.
          </>
        )
        : isRevoked
        ? <>Its tokens are deleted here, and {title} is told that they end.</>
        : (
          <>
            Its tokens are deleted here. {title}{" "}
            cannot be told: end the app's access there too.
          </>
        )}
    </p>
  );
}

function LastUse(
  { account: { usedAt, usedBy, toolTitle }, now }: {
    account: AccountInWords;
    now: number;
  },
) {
  if (usedAt === undefined || usedBy === undefined) return <>never used</>;
  return (
    <>
      last used <PastTime at={usedAt} now={now} /> by{" "}
      {usedBy.client === undefined
        ? "an app"
        : <ClientName name={usedBy.client} />} with{" "}
      <ToolTitle tool={usedBy.tool} toolTitle={toolTitle} />
    </>
  );
}
