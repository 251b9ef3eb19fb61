/** @jsxImportSource @hono/hono/jsx */
/**
 * The consent page: the client that asks, how far that is verified, where the
 * answer goes, what it may do, and which account comes next. It comes before
 * the provider, so that no client can use a consent that the person gave to
 * another.
 *
 * @module
 * @see MCP 2026-07-28 basic/security_best_practices, confused deputy
 */
import type { Lifetimes } from "../auth/rules/lifetimes.ts";
import { displayName } from "./display_name.ts";
import { Layout, type PageProps } from "./layout.tsx";
import { TICK_SCRIPT } from "./scripts.ts";

/** One scope and its meaning for people: "Finds mail. Reads mail." */
export interface ScopeInWords {
  scope: string;
  words: string;
  /** Titles of the tools, resources and prompts that need it. */
  opens?: readonly string[];
  /** True if every approval includes it and it cannot be left out. */
  isFixed?: boolean;
  /** True if the person took it away before: its box is not ticked. */
  isWithheld?: boolean;
}

/**
 * The name of a field that a form with boxes for scopes sends. Without it, a
 * form with no box ticked would look like one that has no boxes. It is not a
 * hidden field: programs that answer this page copy only hidden fields, and
 * mean to approve everything.
 */
export const BOXES = "boxes";

/** The largest number of scopes that are shown without groups. */
const UNGROUPED = 7;

/** The contents of the page. */
export interface ConsentProps extends PageProps {
  /** Path of the public address; empty at a root. */
  base?: string;
  /** The host of this server: `tools.example.com`. */
  host: string;
  /** The client's name for itself; cleaned before it is shown. */
  clientName: string;
  /**
   * `document`: the client is described by a metadata document on `domain`,
   * which was fetched from there. `self-asserted`: anyone could have
   * registered under this name. `configured`: the operator set it up.
   */
  clientVerification:
    | { kind: "document"; domain: string }
    | { kind: "self-asserted" }
    | { kind: "configured" };
  redirectUri: string;
  redirectKind: "https" | "loopback" | "private-use";
  /** "GitHub", "Google" or the host of the provider. */
  providerName: string;
  /** By default those of a server where none are set. */
  lifetimes: Pick<Lifetimes, "grantSeconds" | "idleSeconds">;
  /** The name of who is signed in to the account page in this browser. */
  person?: string;
  /** Empty: the client asks for no scope beyond calling tools. */
  scopes: readonly ScopeInWords[];
  /** Hidden fields of the form, the CSRF token of this rendering among them. */
  fields: Readonly<Record<string, string>>;
  /** The address that the form is posted to. */
  action: string;
}

/**
 * The page, one form: `decision` is `approve` or `deny`. Send it with
 * `forms: "any"`.
 */
export function ConsentPage(props: ConsentProps) {
  const { serverTitle, about, providerName, scopes } = props;
  const { lifetimes } = props;
  const clientName = displayName(props.clientName);
  return (
    <Layout
      title={`Allow “${clientName}”?`}
      serverTitle={serverTitle}
      about={about}
      script={scopes.length > 1 ? TICK_SCRIPT : undefined}
    >
      <main class="card">
        <Question {...props} clientName={clientName} />
        <p class="lead">
          It would act in your name at{" "}
          <strong>{props.host}</strong>. Approve only if you started this
          yourself.
        </p>
        <form method="post" action={props.action}>
          {Object.entries(props.fields).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <dl class="facts">
            <Asker {...props} clientName={clientName} />
            <Destination {...props} />
            <div>
              <dt>What it may do</dt>
              <dd>
                {scopes.length === 0
                  ? "Call the tools of this server."
                  : <ScopeChoice scopes={scopes} />}
              </dd>
            </div>
            <div>
              <dt>For how long</dt>
              <dd>
                For {days(lifetimes.grantSeconds)}{" "}
                days at most, or until it has not been used for{" "}
                {days(lifetimes.idleSeconds)}{" "}
                days. You can end it at any time on your{" "}
                <a href={`${props.base ?? ""}/account`}>account page</a>.
              </dd>
            </div>
            <div>
              <dt>What comes next</dt>
              <dd>
                If you approve, you sign in with{" "}
                <strong>{providerName}</strong>. The app sees neither your
                password nor a token from {providerName}.
                {props.person !== undefined && (
                  <p class="small soft">
                    You are signed in here as{" "}
                    <bdi>{displayName(props.person)}</bdi>. The app gets the
                    account that {providerName}{" "}
                    names, which may be another one of yours.
                  </p>
                )}
              </dd>
            </div>
          </dl>
          <div class="actions">
            <button
              class="primary"
              type="submit"
              name="decision"
              value="approve"
            >
              Approve
            </button>
            <button type="submit" name="decision" value="deny">Deny</button>
          </div>
        </form>
      </main>
    </Layout>
  );
}

/** A box for each scope; if there are many, folded by their first part. */
function ScopeChoice({ scopes }: { scopes: readonly ScopeInWords[] }) {
  const groups = scopes.length > UNGROUPED
    ? [...Map.groupBy(scopes, ({ scope }) => scope.split(/[:./]/)[0])]
    : [["", scopes] as const];
  const [folded, plain] = [
    groups.filter(([name, members]) => name && members.length > 1),
    groups.filter(([name, members]) => !name || members.length === 1),
  ];
  return (
    <div data-boxes>
      <select name={BOXES} hidden>
        <option value="1" selected></option>
      </select>
      {folded.map(([name, members]) => (
        <ScopeGroup name={name} scopes={members} />
      ))}
      <ul>
        {plain.flatMap(([, members]) => members).map((member) => (
          <ScopeBox {...member} />
        ))}
      </ul>
      <p class="small soft">
        Untick what you do not want to give. <TickButtons of="permissions" />
      </p>
    </div>
  );
}

/** A group of scopes: their meaning is in sight, their boxes are folded. */
function ScopeGroup(
  { name, scopes }: { name: string; scopes: readonly ScopeInWords[] },
) {
  return (
    <details class="group" data-boxes>
      <summary>
        {name}
        <span class="badge" data-ticked>
          {scopes.filter(({ isWithheld }) => !isWithheld).length} of{" "}
          {scopes.length}
        </span>
        <span class="small soft">
          {scopes.map(({ words }) => words).join(" ")}
        </span>
      </summary>
      <p class="buttons">
        <TickButtons of={name} />
      </p>
      <ul>{scopes.map((member) => <ScopeBox {...member} />)}</ul>
    </details>
  );
}

/** Buttons for all boxes around them; a script shows them. */
function TickButtons({ of }: { of: string }) {
  return (
    <>
      {["All", "None"].map((label) => (
        <>
          <button class="quiet" type="button" data-tick={label} hidden>
            {label}
            <span class="visually-hidden">{` of ${of}`}</span>
          </button>
          {" "}
        </>
      ))}
    </>
  );
}

/** The most titles that are shown for one scope. */
const TITLES = 6;

function ScopeBox(
  { scope, words, opens = [], isFixed, isWithheld }: ScopeInWords,
) {
  const more = opens.length - TITLES;
  return (
    <li>
      {isFixed ? words : (
        <label class="scope">
          <input
            type="checkbox"
            name="scope"
            value={scope}
            checked={!isWithheld}
          />{" "}
          {words}
        </label>
      )} <code>{scope}</code>
      {isWithheld && <p class="small soft">You took this away before.</p>}
      {opens.length > 0 && (
        <p class="small soft">
          Opens {opens.slice(0, TITLES).join(", ")}
          {more > 0 && ` and ${more} more`}
        </p>
      )}
    </li>
  );
}

function days(seconds: number): number {
  return Math.floor(seconds / 86_400);
}

/** The question; a name that anyone could have chosen is in quotation marks. */
function Question(
  { clientName, clientVerification, serverTitle }: ConsentProps,
) {
  return clientVerification.kind === "document"
    ? (
      <h1>
        Let “<bdi class="claimed">{clientName}</bdi>” from{" "}
        {clientVerification.domain} use <bdi>{serverTitle}</bdi>?
      </h1>
    )
    : clientVerification.kind === "configured"
    ? (
      <h1>
        Let “<bdi class="claimed">{clientName}</bdi>” use{" "}
        <bdi>{serverTitle}</bdi>?
      </h1>
    )
    : (
      <h1>
        Let an app calling itself “<bdi class="claimed">{clientName}</bdi>” use
        {" "}
        <bdi>{serverTitle}</bdi>?
      </h1>
    );
}

function Asker({ clientName, clientVerification }: ConsentProps) {
  return (
    <div>
      <dt>Who asks</dt>
      {clientVerification.kind === "document"
        ? (
          <dd>
            <strong>{clientVerification.domain}</strong>{" "}
            <span class="badge good">Domain verified</span>
            <p class="small soft">
              It calls its app “<bdi class="claimed">{clientName}</bdi>”.
            </p>
          </dd>
        )
        : clientVerification.kind === "configured"
        ? (
          <dd>
            “<bdi class="claimed">{clientName}</bdi>”{" "}
            <span class="badge good">Set up by the operator</span>
          </dd>
        )
        : (
          <dd>
            An app calling itself “<bdi class="claimed">{clientName}</bdi>”{" "}
            <span class="badge warn">Unverified</span>
            <p class="small soft">
              Any app can choose any name. No one has checked this one.
            </p>
          </dd>
        )}
    </div>
  );
}

function Destination(
  { clientVerification, redirectUri, redirectKind }: ConsentProps,
) {
  return (
    <div>
      <dt>Where the answer goes</dt>
      <dd>
        {redirectKind === "https"
          ? <strong>{new URL(redirectUri).host}</strong>
          : redirectKind === "loopback"
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
        {redirectKind !== "https" && (
          <p class="small soft">
            Which program that is cannot be checked from here
            {clientVerification.kind === "document" &&
              ", whatever the domain above says"}.
          </p>
        )}
      </dd>
    </div>
  );
}
