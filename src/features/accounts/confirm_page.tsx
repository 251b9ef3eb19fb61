/** @jsxImportSource @hono/hono/jsx */
/**
 * The pages that show an account before and after it is stored.
 *
 * @module
 */
import type { ListedAccount } from "./accounts.ts";
import {
  ConnectForm,
  type ConnectProps,
  LabelField,
  NothingKept,
  ScopeNames,
  SignedInAs,
} from "./connect_form.tsx";
import {
  AccountName,
  ContinueWith,
  WaitsForAccount,
} from "./connected_account.tsx";
import { CardPage } from "../../core/pages/layout.tsx";
import { PastTime } from "../../core/pages/times.tsx";
import { FRONT_SCRIPT } from "../../core/pages/scripts.ts";

/**
 * The page that shows the account of a key or token before it is stored.
 * Respond with `forms: "self"`; with `"any"` if a button leads to the service
 * again.
 */
export function ConfirmPage(
  props: ConnectProps & {
    label?: string;
    /**
     * The name under which the account is stored: not `label` if another
     * account has that name.
     */
    keptAs?: string;
    checked: string;
    /** The host of the service's consent page, if known. */
    signedInAt?: string;
    /** The account that this one replaces. */
    replaced?: Pick<ListedAccount, "label" | "createdAt">;
    /** The requested scopes that the token response did not name. */
    unnamed?: readonly string[];
    /** True if the waiting call began with another account. */
    isOther?: boolean;
    /** The reason why the account could not be stored. */
    refusal?: string;
  },
) {
  const { title, label, keptAs, scopes, checked, replaced, now } = props;
  const { unnamed = [], signedInAt, host } = props;
  return (
    <CardPage
      {...props}
      title={`Connect ${title}`}
      scripts={[FRONT_SCRIPT]}
    >
      <NothingKept {...props} />
      <p class="note good" role="status">
        {scopes === undefined
          ? <>The key works.</>
          : <>You have allowed it. Nothing is kept yet.</>}
      </p>
      {signedInAt !== undefined && signedInAt !== host && (
        <p>
          You signed in at{" "}
          <strong>{signedInAt}</strong>. The access that you allowed there is
          used at <strong>{host}</strong>.
        </p>
      )}
      <p class="lead">
        {label === undefined
          ? <>{title} does not say which account of yours it is.</>
          : scopes === undefined
          ? (
            <>
              {title} says that it is the key of <AccountName label={label} />.
            </>
          )
          : (
            <>
              {title} says that you are <AccountName label={label} /> there.
            </>
          )}
      </p>
      {keptAs !== label && (
        <p>
          Another account of yours has that name: it is kept as{" "}
          <AccountName label={keptAs} />.
        </p>
      )}
      {unnamed.length > 0 && (
        <p class="note warn">
          {title} did not say that you allowed{" "}
          <ScopeNames scopes={unnamed} />. What needs that may be refused there.
        </p>
      )}
      {replaced && (
        <p>
          It takes the place of{" "}
          <AccountName label={replaced.label} />, connected{" "}
          <PastTime at={replaced.createdAt} now={now} />.
        </p>
      )}
      {props.isOther && (
        <p class="note warn">
          <WaitsForAccount {...props} />{" "}
          It does not go on with this one, unless you say so once it is kept.
        </p>
      )}
      <dl class="facts">
        <SignedInAs {...props} />
      </dl>
      <ConnectForm
        {...props}
        label="Keep it"
        fields={{ checked }}
        backTo={unnamed.length > 0 ? title : undefined}
      >
        {label === undefined && props.several && <LabelField />}
      </ConnectForm>
    </CardPage>
  );
}

/**
 * The page that says that an account is connected. Respond with `forms:
 * "self"`.
 */
export function ConnectedPage(
  { account, ...props }: ConnectProps & { account: ListedAccount },
) {
  const { base = "", title, several, name, asked } = props;
  return (
    <CardPage {...props} title={`${title} is connected`}>
      <p class="note good" role="status">
        {account.label === undefined
          ? `Connected. ${title} does not say whose ${
            account.scopes === undefined ? "key" : "account"
          } it is.`
          : (
            <>
              Connected as <AccountName label={account.label} />.
            </>
          )}
      </p>
      {asked?.begun?.others.includes(account.id)
        ? (
          <>
            <p class="note warn">
              <WaitsForAccount asked={asked} />{" "}
              It has not gone on with this one.
            </p>
            <ContinueWith {...props} account={account} />
            <p>
              <a href={`${base}/connect/${name}?w=${asked.id}`}>
                Connect the account that it waits for
              </a>
            </p>
          </>
        )
        : (
          <p>
            You can go back to your app. If it does not go on by itself, ask it
            again.
          </p>
        )}
      <p>
        <a href={`${base}/account/accounts`}>Your accounts</a>
        {several && (
          <>
            {" · "}
            <a href={`${base}/connect/${name}`}>Connect another</a>
          </>
        )}
      </p>
    </CardPage>
  );
}
