/** @jsxImportSource @hono/hono/jsx */
/**
 * The data that is kept about a person, for them to download and to erase.
 *
 * @module
 */
import { AccountForm, Fact, type FormPage } from "./layout.tsx";

interface DataProps extends FormPage {
  providerName: string;
  /** True if the person signed in a moment ago, and may erase. */
  isRecent: boolean;
  /** The days for which calls are kept; 0: none are. */
  ledgerDays: number;
}

/** The data of a person: what it is, a copy of it, and its end. */
export function DataSection(
  { providerName, isRecent, ledgerDays, ...form }: DataProps,
) {
  const { base = "" } = form;
  const kept: (readonly [what: string, until: string])[] = [
    [
      "Connections and access tokens, with your name and address as " +
      `${providerName} tells them`,
      "until they end; without a name and address as long as they would have lived",
    ],
    ["What you paused, and took away from apps", "366 days"],
    ...ledgerDays === 0 ? [] : [
      [
        "Your latest calls: tool, time and outcome",
        `${ledgerDays} days, or until their connection ends`,
      ] as const,
    ],
    ["Sessions of apps", "30 days after their last use"],
    ["Tasks with their results", "24 hours"],
    ["Being signed in here", "1 hour"],
  ];
  return (
    <>
      <section>
        <div class="card">
          <dl class="facts kept">
            {kept.map(([what, until]) => <Fact term={what}>{until}</Fact>)}
          </dl>
          <AccountForm {...form} to="/account/export">
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
            <li>a block, if they shut you out, until they lift it;</li>
            <li>the IDs of your ended connections, for a day;</li>
            <li>
              what you allowed this server at {providerName}: end it there;
            </li>
            <li>
              what tools stored elsewhere, and apps that your organization
              connects for you: they may come back.
            </li>
          </ul>
          {isRecent
            ? (
              <AccountForm {...form} to="/account/erase">
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
              <form method="post" action={`${base}/account/sign-in`}>
                <input type="hidden" name="back" value={form.back ?? "data"} />
                <p>Sign in again first, so that no one else can do it.</p>
                <div class="actions">
                  <button type="submit">Sign in again</button>
                </div>
              </form>
            )}
        </div>
      </section>
    </>
  );
}
