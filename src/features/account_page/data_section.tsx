/** @jsxImportSource @hono/hono/jsx */
/**
 * The list of stored data about a person, with forms to download and erase it.
 *
 * @module
 */
import {
  AccountForm,
  FactRow,
  type FormPage,
  HiddenFields,
} from "../../core/pages/layout.tsx";

interface DataProps extends FormPage {
  /** The provider's name in `OAUTH_PROVIDER`, if that lists several. */
  providerKey?: string;
  providerName: string;
  /** True if the person signed in recently enough to erase. */
  mayErase: boolean;
  /**
   * The kinds of data: name, time stored, and the reason if it is not erased.
   */
  kept: readonly (readonly [what: string, until: string, stays?: string])[];
  /** The services at which keys and tokens remain valid after an erasure. */
  unrevoked?: readonly string[];
}

/**
 * The form for a sign-in at which the provider authenticates the person again.
 */
export function FreshSignIn(
  { base = "", back, providerKey, what = "do it" }:
    & Pick<FormPage, "base" | "back">
    & Pick<DataProps, "providerKey">
    & { what?: string },
) {
  return (
    <form method="post" action={`${base}/account/sign-in`}>
      <HiddenFields
        of={[["back", back], ["provider", providerKey], ["fresh", "on"]]}
      />
      <p>Sign in again first, so that no one else can {what}.</p>
      <div class="actions">
        <button type="submit">Sign in again</button>
      </div>
    </form>
  );
}

export function DataSection(
  { providerKey, providerName, mayErase, kept, unrevoked = [], ...form }:
    DataProps,
) {
  const staying = kept.filter(([, , stays]) => stays !== undefined);
  return (
    <>
      <section>
        <div class="card">
          <dl class="facts kept">
            {kept.map(([what, until]) => <FactRow term={what}>{until}
            </FactRow>)}
          </dl>
          <AccountForm {...form} action="/account/export">
            <div class="actions">
              <button type="submit">Download it as JSON</button>
            </div>
          </AccountForm>
          <p class="small soft">
            The file has no tokens, no results of tasks, and nothing that opens
            anything.
          </p>
        </div>
      </section>
      <section>
        <h2>Erase it</h2>
        <div class="card">
          <p>
            Every app is disconnected, every token, session and task ends, you
            are signed out everywhere, and all of the above is deleted. It
            cannot be undone. This stays:
          </p>
          <ul class="small soft">
            <li>
              the log of the people who run this server, and their backups: ask
              them how long;
            </li>
            {staying.map(([what, until, stays]) => (
              <li>
                {what[0].toLowerCase() + what.slice(1)}, {until}, {stays};
              </li>
            ))}
            <li>
              what you allowed this server at {providerName}: end it there;
            </li>
            {unrevoked.length > 0 && (
              <li>
                your keys and tokens at {unrevoked.join(", ")}{" "}
                themselves, which stay good: end them there;
              </li>
            )}
            <li>
              what tools stored elsewhere, and apps that your organization
              connects for you: they may come back.
            </li>
          </ul>
          {mayErase
            ? (
              <AccountForm {...form} action="/account/erase">
                <label class="tick">
                  <input type="checkbox" name="erase" value="on" required />
                  {" "}
                  <span>Erase what this server keeps about me</span>
                </label>
                <div class="actions">
                  <button class="danger" type="submit">Erase everything</button>
                </div>
              </AccountForm>
            )
            : (
              <FreshSignIn
                base={form.base}
                back={form.back ?? "data"}
                providerKey={providerKey}
              />
            )}
        </div>
      </section>
    </>
  );
}
