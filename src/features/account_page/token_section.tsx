/** @jsxImportSource @hono/hono/jsx */
/**
 * The list of a person's own access tokens, with the form that makes one.
 *
 * @module
 */
import type { Grant } from "../../core/oauth/grant.ts";
import { MADE_TOKEN_SECONDS } from "./account_sessions.ts";
import {
  ClientName,
  displayName,
  type ToolInWords,
} from "../../core/pages/names.tsx";
import { FreshSignIn } from "./data_section.tsx";
import { ConnectionRow } from "./connection_forms.tsx";
import {
  CutNote,
  type GrantInWords,
  PausedNote,
} from "./connections_section.tsx";
import {
  AccountForm,
  CopyLine,
  type FormPage,
} from "../../core/pages/layout.tsx";
import { dayOf, PastTime, printDuration } from "../../core/pages/times.tsx";
import { MayUse, ScopeFields } from "../../core/pages/scope_boxes.tsx";
import type { ScopeInWords } from "../../core/pages/scopes.ts";

interface TokenInWords
  extends
    Omit<GrantInWords, "kind" | "sessions">,
    Pick<Grant, "clientName" | "endsAt" | "mayUseAccounts"> {
  tools?: readonly ToolInWords[];
  /** The URL of the token's latest calls. Undefined if no calls are stored. */
  callsHref?: string;
}

interface TokenProps extends FormPage {
  /** The person's access tokens, newest first. */
  tokens: readonly TokenInWords[];
  /** The scopes that a new token may have. */
  scopes: readonly ScopeInWords[];
  /** True if the server has scopes but the person may have none. */
  isBare: boolean;
  providerKey?: string;
  /** True if the person signed in recently enough to make a token. */
  isFresh: boolean;
  /** False if the person may use nothing on this server. */
  mayMake: boolean;
  /** True if tools use accounts of people at other services. */
  hasAccounts?: boolean;
  /** The allowed lifetimes of a new token, in days. */
  days: readonly number[];
  /** The new token; `token` is its text, while it can be shown. */
  made?: { name: string; token?: string };
  /** The number of grants that were read. Undefined if these are all. */
  most?: number;
  now: number;
}

export function TokenSection(props: TokenProps) {
  const { tokens, scopes, isBare, mayMake, hasAccounts, days, ...shown } =
    props;
  const { made, most, now, providerKey, isFresh, ...form } = shown;
  return (
    <section>
      {made && <MadeToken {...made} />}
      <CutNote most={most} />
      <div class="card">
        <p class="soft">
          For a program of yours that cannot open a browser. It acts in your
          name: give it to no one.
        </p>
        {tokens.length > 0 && (
          <ul class="rows">
            {tokens.map((token) => (
              <TokenRow {...form} token={token} now={now} />
            ))}
          </ul>
        )}
        {!mayMake
          ? (
            <p class="soft">
              You may use nothing here, and nor may a token of yours. Ask the
              people who run this server.
            </p>
          )
          : isFresh
          ? <TokenForm {...{ ...form, scopes, isBare, hasAccounts, days }} />
          : (
            <FreshSignIn
              {...form}
              providerKey={providerKey}
              what="make a token"
            />
          )}
      </div>
    </section>
  );
}

/** The field for the name of a new token, passkey or account. */
export function NameField(
  { label = "Name", name = "name", placeholder }: {
    label?: string;
    name?: string;
    placeholder: string;
  },
) {
  return (
    <label>
      {label}
      <input
        type="text"
        name={name}
        required
        maxlength={80}
        autocomplete="off"
        placeholder={placeholder}
      />
    </label>
  );
}

function TokenForm(
  { base, csrf, scopes, isBare, hasAccounts, days }:
    & FormPage
    & Pick<TokenProps, "scopes" | "isBare" | "hasAccounts" | "days">,
) {
  return (
    <AccountForm base={base} csrf={csrf} action="/account/tokens">
      <NameField placeholder="What it is for" />
      <label>
        Ends after{" "}
        <select name="days">
          {days.map((number) => (
            <option value={String(number)} selected={number === 30}>
              {number} days
            </option>
          ))}
        </select>
      </label>
      {scopes.length > 0 && <ScopeFields legend="It may use" scopes={scopes} />}
      {hasAccounts && (
        <label>
          <input type="checkbox" name="accounts" />{" "}
          It may act with your accounts at other services
        </label>
      )}
      {isBare && (
        <p class="soft">
          You may use nothing here that needs a permission, and nor may a token
          of yours. Ask the people who run this server.
        </p>
      )}
      <div class="actions">
        <button type="submit">Make a token</button>
      </div>
    </AccountForm>
  );
}

/** A new token. It gets the focus, so that it is scrolled into view. */
function MadeToken({ name, token }: { name: string; token?: string }) {
  return (
    <div class="note good" role="status" tabindex={-1} autofocus>
      {token === undefined
        ? (
          <p>
            <ClientName name={name} /> was shown for{" "}
            {printDuration(MADE_TOKEN_SECONDS)}{" "}
            and cannot be shown again. If you did not copy it, end it and make
            another.
          </p>
        )
        : (
          <>
            <p>
              Here is your token <ClientName name={name} />. Copy it now: after
              {" "}
              {printDuration(MADE_TOKEN_SECONDS)}, no one can see it again.
            </p>
            <CopyLine text={token} label="Copy the token" />
            <p id="said" class="visually-hidden" role="status"></p>
          </>
        )}
    </div>
  );
}

function TokenRow(
  { token, now, ...form }: FormPage & { token: TokenInWords; now: number },
) {
  const { scopes, createdAt, usedAt, endsAt, mayUseAccounts } = token;
  const name = displayName(token.clientName);
  return (
    <ConnectionRow
      {...form}
      name={name}
      title={<bdi>{name}</bdi>}
      grantIds={[token.id]}
      ends="What uses it is refused from then on. That cannot be undone: make another."
      isPaused={token.pausedAt !== undefined}
      scopes={scopes}
      tools={token.tools}
      callsHref={token.callsHref}
    >
      <p class="small soft">
        <PausedNote at={token.pausedAt} now={now} />
        Made <PastTime at={createdAt} now={now} />,{" "}
        {usedAt <= createdAt ? "never used" : (
          <>
            last used <PastTime at={usedAt} now={now} />
          </>
        )}, ends on <time>{dayOf(endsAt)}</time>
      </p>
      {mayUseAccounts && (
        <p class="small">It may act with your accounts at other services.</p>
      )}
      <MayUse scopes={scopes} />
    </ConnectionRow>
  );
}
