/** @jsxImportSource @hono/hono/jsx */
/**
 * The consent page: which client asks, how far it is verified, which tools it
 * could use, where the response goes, what the client may do, and where the
 * person signs in next. It comes before the sign-in at the provider, so that no
 * client can use the consent that a person gave to another.
 * @module
 * @see MCP 2026-07-28 basic/security_best_practices, confused deputy
 */
import type { Child } from "@hono/hono/jsx";
import type { Lifetimes } from "../oauth/lifetimes.ts";
import { type Client, clientName } from "../oauth/client.ts";
import { isSelfRegistered } from "../oauth/client_policy.ts";
import { redirectKind } from "../oauth/redirect_uri.ts";
import {
  AllTools,
  displayName,
  NamedTools,
  type ToolInWords,
} from "./names.tsx";
import { CardPage, FactRow, HiddenFields, type PageProps } from "./layout.tsx";
import { countBoxes, ScopeChoice } from "./scope_boxes.tsx";
import type { ScopeInWords } from "./scopes.ts";
import { FRONT_SCRIPT, TICK_SCRIPT } from "./scripts.ts";
import { dayOf, printDuration } from "./times.tsx";

/** A service that tools use with people's accounts. */
interface ReachedAccount {
  title: string;
  /** True if the service is behind the sign-in provider. */
  isUpstream?: boolean;
  /**
   * The time at which the person connected the account; undefined if unknown.
   */
  since?: number;
}

export interface ConsentProps extends PageProps {
  /** The host of this server: `tools.example.com`. */
  host: string;
  /** The client. The name that it gave itself is cleaned before it is shown. */
  client: Client;
  redirectUri: string;
  /** "GitHub", "Google" or the host of the provider. */
  providerName: string;
  lifetimes: Pick<Lifetimes, "grantSeconds" | "idleSeconds">;
  /**
   * The person who is signed in to the account page in this browser; undefined
   * if no one is.
   */
  person?: string;
  /** The services that the client could use with the person's own accounts. */
  accounts?: readonly ReachedAccount[];
  /** The tools that need only these scopes. */
  tools: readonly (ToolInWords & { needsScope: boolean })[];
  /**
   * The requested scopes. If empty, the client may use tools that need no
   * scope.
   */
  scopes: readonly ScopeInWords[];
  /** Hidden fields of the form, with its CSRF token. */
  fields: Readonly<Record<string, string>>;
  action: string;
}

/**
 * The consent page: one form whose `decision` is `approve` or `deny`. Respond
 * with `forms: "any"`, because it ends in a redirect to the client or the
 * provider.
 */
export function ConsentPage(props: ConsentProps) {
  const { base = "", lifetimes, person, providerName, tools } = props;
  const { scopes } = props;
  const name = displayName(clientName(props.client));
  const claimed = <bdi class="claimed">{name}</bdi>;
  return (
    <CardPage
      {...props}
      title={`Allow “${name}”?`}
      heading={<Question {...props} claimed={claimed} />}
      scripts={[FRONT_SCRIPT, ...countBoxes(scopes) > 1 ? [TICK_SCRIPT] : []]}
    >
      <p class="lead">
        {tools.length === 0 ? "It would act in your name" : "In your name"} at
        {" "}
        <strong>{props.host}</strong>
        {tools.length > 0 && (
          <>
            {" "}it could use: <NamedTools tools={tools} />
          </>
        )}. Approve only if you started this yourself.
      </p>
      <AllTools tools={tools} />
      <form method="post" action={props.action}>
        <HiddenFields of={Object.entries(props.fields)} />
        <dl class="facts">
          <FactRow term="Who asks">
            <Asker {...props} claimed={claimed} />
          </FactRow>
          <FactRow term="Where the answer goes">
            <Destination {...props} />
          </FactRow>
          <FactRow term="What it may do">
            <Permitted {...props} />
          </FactRow>
          <Reach {...props} />
          <FactRow term="For how long">
            For {printDuration(lifetimes.grantSeconds)}{" "}
            at most, or until it has not been used for{" "}
            {printDuration(lifetimes.idleSeconds)}. You can end it at any time
            on your <a href={`${base}/account`}>account page</a>.
          </FactRow>
          <FactRow term="What comes next">
            If you approve, you sign in with{" "}
            <strong>{providerName}</strong>. The app sees neither your password
            nor a token from {providerName}.
            {person !== undefined && (
              <p class="small soft">
                You are signed in here as{" "}
                <bdi>{displayName(person)}</bdi>. The app gets the account that
                {" "}
                {providerName} names, which may be another one of yours.
              </p>
            )}
          </FactRow>
        </dl>
        <div class="actions">
          {/* Enter on a box presses the first button. */}
          <button type="submit" name="decision" value="deny">Deny</button>
          <button class="primary" type="submit" name="decision" value="approve">
            Approve
          </button>
        </div>
      </form>
    </CardPage>
  );
}

/** Shows the scopes, each with a checkbox, and the tools that need no scope. */
function Permitted({ scopes, tools }: ConsentProps) {
  const free = tools.filter(({ needsScope }) => !needsScope);
  if (countBoxes(scopes) > 0) {
    return (
      <>
        <ScopeChoice scopes={scopes} />
        {free.length > 0 && (
          <p class="small soft">
            Whatever you choose, it may also use <NamedTools tools={free} />.
          </p>
        )}
      </>
    );
  }
  return (
    <>
      <p>
        {free.length > 0
          ? "Use the tools named above. There is nothing to choose."
          : "Use what needs no permission."}
      </p>
      {scopes.length > 0 && <ScopeChoice scopes={scopes} />}
    </>
  );
}

/**
 * Shows the accounts that a new client can use without another page. The person
 * connected them earlier for these tools, or has them through the sign-in
 * provider.
 */
function Reach(
  { accounts = [], providerName }: Pick<
    ConsentProps,
    "accounts" | "providerName"
  >,
) {
  if (accounts.length === 0) return null;
  return (
    <FactRow term="Where else it can act as you">
      With tools that need it:
      <ul>
        {accounts.map(({ title, isUpstream, since }) => (
          <li>
            <strong>{title}</strong>
            {isUpstream
              ? `, by your sign-in with ${providerName}`
              : since === undefined
              ? ", once you have connected it on a page of this server"
              : `, which you connected on ${dayOf(since)}`}
          </li>
        ))}
      </ul>
    </FactRow>
  );
}

/** The name that a client gave itself, as an element. */
type Claimed = { claimed: Child };

/**
 * Shows the question. An unverified name, which anyone could choose, is in
 * quotation marks.
 */
function Question({ claimed, client, serverTitle }: ConsentProps & Claimed) {
  return (
    <>
      Let {isSelfRegistered(client) && "an app calling itself "}“{claimed}”
      {client.domain !== undefined && ` from ${client.domain}`} use{" "}
      <bdi>{serverTitle}</bdi>?
    </>
  );
}

function Asker(
  { claimed, client: { isConfigured, domain } }: ConsentProps & Claimed,
) {
  if (isConfigured) {
    return (
      <>
        “{claimed}” <span class="badge good">Set up by the operator</span>
      </>
    );
  }
  return domain === undefined
    ? (
      <>
        An app calling itself “{claimed}”{" "}
        <span class="badge warn">Unverified</span>
        <p class="small soft">
          Any app can choose any name. No one has checked this one.
        </p>
      </>
    )
    : (
      <>
        <strong>{domain}</strong>{" "}
        <span class="badge good">Domain verified</span>
        <p class="small soft">It calls its app “{claimed}”.</p>
      </>
    );
}

function Destination({ client: { domain }, redirectUri }: ConsentProps) {
  const kind = redirectKind(redirectUri);
  return (
    <>
      {kind === "https"
        ? <strong>{new URL(redirectUri).host}</strong>
        : kind === "loopback"
        ? "A program on this device"
        : (
          <>
            The app on this device that opens{" "}
            <strong>
              {redirectUri.slice(0, redirectUri.indexOf(":") + 1)}
            </strong>{" "}
            links
          </>
        )}
      <p class="small">
        <code>{redirectUri}</code>
      </p>
      {kind !== "https" && (
        <p class="small soft">
          Which program that is cannot be checked from here
          {domain !== undefined &&
            ", whatever the domain above says"}.
        </p>
      )}
    </>
  );
}
