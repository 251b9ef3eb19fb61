/** @jsxImportSource @hono/hono/jsx */
/**
 * The page on which a person connects an account at another service: which
 * service, who asks, as whom they are signed in, and one field for the key.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { ListedAccount } from "../store/accounts.ts";
import {
  type ClientInWords,
  ClientNameAndBadge,
  displayName,
  type ToolInWords,
  ToolTitle,
} from "./names.tsx";
import { AccountName, ConnectedAccount } from "./connected_account.tsx";
import { AccountForm, CardPage, Fact, type PageProps } from "./layout.tsx";
import { type ProviderOption, SignInForm } from "./provider_buttons.tsx";

/** The service of a page. */
interface ServiceInWords {
  name: string;
  /** Its name for people. */
  title: string;
  /** The host of its API. */
  host: string;
  /** The author's words that tell where it gives out keys. */
  help?: string;
  /** True if a person may connect several accounts there. */
  several?: boolean;
  /** True if the person has to name the account. */
  asksLabel: boolean;
}

export interface ConnectProps extends PageProps, ServiceInWords {
  person: string;
  /** The accounts that the person has connected there. */
  connected: readonly ListedAccount[];
  /** The call that waits for it. */
  asked?: ToolInWords & { id: string; client: ClientInWords };
  csrf: string;
  now: number;
}

/** The form, after a refusal with its reason. Send it with `forms: "self"`. */
export function ConnectPage(props: ConnectProps & { refusal?: string }) {
  const { title, host, help, connected, asksLabel, refusal } = props;
  return (
    <CardPage {...props} title={`Connect ${title}`}>
      {refusal !== undefined && (
        <p class="note warn" role="alert">
          {refusal} Nothing was kept.
        </p>
      )}
      <p class="lead">
        Tools of this server will act at <strong>{host}</strong>{" "}
        as you, with a key of yours.
      </p>
      <dl class="facts">
        <WhoAsks {...props} />
        {help !== undefined && (
          <Fact term="Where you find the key">
            <bdi>{help}</bdi>
          </Fact>
        )}
        <Fact term="What happens to it">
          It is kept sealed here, and sent to {host}{" "}
          alone. The app and its assistant never see it.
        </Fact>
        {connected.length > 0 && (
          <Fact term="Connected now">
            {connected.map((account) => (
              <ConnectedAccount {...props} account={account} />
            ))}
            {!props.several && (
              <p class="small soft">The new key takes its place.</p>
            )}
          </Fact>
        )}
        <SignedInAs {...props} />
      </dl>
      <ConnectForm {...props} label="Connect">
        <label>
          Your key
          <input
            type="password"
            name="key"
            required
            autocomplete="off"
            spellcheck={false}
          />
        </label>
        {asksLabel && (
          <label>
            What to call this account
            <input
              type="text"
              name="label"
              required
              maxlength={80}
              autocomplete="off"
              placeholder="Such as: work"
            />
          </label>
        )}
      </ConnectForm>
    </CardPage>
  );
}

/** The account that a key is of, before it is kept. `forms: "self"`. */
export function ConfirmPage(
  props: ConnectProps & { label: string; checked: string },
) {
  const { title, label, checked } = props;
  return (
    <CardPage {...props} title={`Connect ${title}`}>
      <p class="note good" role="status">The key works.</p>
      <p class="lead">
        {title} says that it is the key of <AccountName label={label} />.
      </p>
      <dl class="facts">
        <SignedInAs {...props} />
      </dl>
      <ConnectForm
        {...props}
        label="Keep it"
        fields={{ checked }}
      />
    </CardPage>
  );
}

/** The page after a key was kept. Send it with `forms: "self"`. */
export function ConnectedPage(
  { account, ...props }: ConnectProps & { account: ListedAccount },
) {
  const { base = "", title, several, name } = props;
  return (
    <CardPage {...props} title={`${title} is connected`}>
      <p class="note good" role="status">
        Connected as <AccountName label={account.label} />.
      </p>
      <p>
        You can go back to your app. If it does not go on by itself, ask it
        again.
      </p>
      <p>
        <a href={`${base}/account/accounts`}>Your accounts</a>
        {several && (
          <>
            {" · "}
            <a href={`${base}/connect/${name}`}>Add another</a>
          </>
        )}
      </p>
    </CardPage>
  );
}

/** The page for someone who has not signed in. `forms: "any"`. */
export function ConnectSignInPage(
  { title, back, options, ...page }: PageProps & {
    title: string;
    back: string;
    options: readonly ProviderOption[];
  },
) {
  return (
    <CardPage {...page} title={`Connect ${title}`}>
      <p class="lead">
        Sign in first. An account at {title}{" "}
        is connected to you alone, no matter who sent you this link.
      </p>
      <SignInForm base={page.base} back={back} options={options} />
    </CardPage>
  );
}

function WhoAsks({ asked }: Pick<ConnectProps, "asked">) {
  if (asked === undefined) return null;
  const { client, ...tool } = asked;
  return (
    <Fact term="Who asks">
      <ClientNameAndBadge client={client} /> with the tool{" "}
      <ToolTitle {...tool} />
    </Fact>
  );
}

function SignedInAs(
  { base = "", person }: Pick<ConnectProps, "base" | "person">,
) {
  return (
    <Fact term="As whom">
      You are signed in as{" "}
      <strong>
        <bdi>{displayName(person)}</bdi>
      </strong>. Not you? <a href={`${base}/account`}>Sign out</a> first.
    </Fact>
  );
}

/** The form of a page, with the call that waits. */
function ConnectForm(
  { base, csrf, name, asked, label, fields, children }:
    & Pick<ConnectProps, "base" | "csrf" | "name" | "asked">
    & {
      label: string;
      fields?: Readonly<Record<string, string>>;
      children?: Child;
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
      <div class="actions">
        <button class="primary" type="submit" name="answer" value="connect">
          {label}
        </button>
        <button type="submit" name="answer" value="not-now" formnovalidate>
          Not now
        </button>
      </div>
    </AccountForm>
  );
}
