/** @jsxImportSource @hono/hono/jsx */
/**
 * The page on which a person connects an account: service, requesting client,
 * signed-in person, and a field for a key or a button that leads to the
 * service.
 *
 * @module
 */
import {
  ConnectForm,
  type ConnectProps,
  LabelField,
  NothingKept,
  ScopeNames,
  SignedInAs,
} from "./connect_form.tsx";
import { ConnectedAccount, WaitsForAccount } from "./connected_account.tsx";
import { ClientNameAndBadge, ToolTitle } from "../../core/pages/names.tsx";
import { CardPage, FactRow } from "../../core/pages/layout.tsx";
import { FRONT_SCRIPT } from "../../core/pages/scripts.ts";

/**
 * The page with the form and, after a refusal, its reason. Respond with `forms:
 * "self"`; with `"any"` if it leads to the service.
 */
export function ConnectPage(
  props: ConnectProps & {
    /** The host of the service's sign-in, if known. */
    signInHost?: string;
    refusal?: string;
  },
) {
  const { title, host, help, scopes, connected, signInHost } = props;
  const token = scopes === undefined ? "key" : "token";
  return (
    <CardPage
      {...props}
      title={`Connect ${title}`}
      scripts={[FRONT_SCRIPT]}
    >
      <NothingKept {...props} />
      <p class="lead">
        Tools of this server will act at <strong>{host}</strong> as you
        {scopes === undefined ? <>, with a key of yours.</> : (
          <>
            . You allow it at{" "}
            {signInHost === undefined ? title : <strong>{signInHost}</strong>}
            , which sends you back here.
          </>
        )}
      </p>
      <dl class="facts">
        <WhoAsks {...props} />
        {help !== undefined && (
          <FactRow term="Where you find the key">
            <bdi>{help}</bdi>
          </FactRow>
        )}
        {scopes !== undefined && <ScopesAsked {...props} scopes={scopes} />}
        <FactRow term={`What happens to the ${token}`}>
          It is kept sealed here, for this server's tools to use at{" "}
          {host}. Neither the app nor its assistant is given it.
        </FactRow>
        {connected.length > 0 && (
          <FactRow term="Connected now">
            {connected.map((account) => (
              <ConnectedAccount {...props} account={account} />
            ))}
            {!props.several && (
              <p class="small soft">The new {token} takes its place.</p>
            )}
          </FactRow>
        )}
        <SignedInAs {...props} />
      </dl>
      {scopes === undefined
        ? (
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
            {props.asksLabel && <LabelField />}
          </ConnectForm>
        )
        : <ConnectForm {...props} label={`Go to ${title}`} />}
    </CardPage>
  );
}

/** The scopes to request; those not requested before are listed separately. */
function ScopesAsked(
  { scopes, connected, usual = [] }:
    & Pick<ConnectProps, "connected" | "usual">
    & { scopes: readonly string[] },
) {
  const added = scopes.filter((scope) =>
    connected.length > 0 &&
    connected.every(({ scopes = [], given = [] }) =>
      ![...scopes, ...given].includes(scope)
    )
  );
  const others = scopes.filter((scope) => !added.includes(scope));
  return (
    <>
      {added.length > 0 && (
        <FactRow term="Not allowed yet">
          <ScopeNames scopes={added} />
        </FactRow>
      )}
      {others.length > 0 && (
        <FactRow
          term={added.length > 0 ? "Allowed before" : "The scopes there"}
        >
          <ScopeNames scopes={others} />
        </FactRow>
      )}
      {usual.length > 0 && (
        <FactRow term="Besides, if it has them">
          <ScopeNames scopes={usual} />
        </FactRow>
      )}
    </>
  );
}

function WhoAsks({ asked }: Pick<ConnectProps, "asked">) {
  if (asked === undefined) return null;
  const { client, begun: _, ...tool } = asked;
  return (
    <FactRow term="Who asks">
      <ClientNameAndBadge client={client} /> for <ToolTitle {...tool} />
      {asked.begun && (
        <p>
          <WaitsForAccount asked={asked} />
        </p>
      )}
    </FactRow>
  );
}
