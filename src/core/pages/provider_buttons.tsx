/** @jsxImportSource @hono/hono/jsx */
/**
 * Components for choosing a sign-in provider: a button for each, the form that
 * leads to the account page, and the page that follows consent.
 * @module
 */
import {
  CardPage,
  type FormPage,
  HiddenFields,
  type PageProps,
} from "./layout.tsx";

export interface ProviderOption {
  /** The provider's value in the form; undefined if it is the only one. */
  key?: string;
  /** "GitHub", "Google" or the host of the provider. */
  name: string;
  /** True if this browser used the provider last. */
  isLast?: boolean;
}

/**
 * Shows a button for each provider. The last used one, or the only one, is the
 * main one.
 */
function ProviderButtons({ options }: { options: readonly ProviderOption[] }) {
  return (
    <div class="actions rowed">
      {options.map(({ key, name, isLast }) => (
        <button
          class={isLast || options.length === 1 ? "primary" : undefined}
          type="submit"
          {...key !== undefined && { name: "provider", value: key }}
        >
          Sign in with {name}
          {isLast && " (used last)"}
        </button>
      ))}
    </div>
  );
}

export function SignInForm(
  { base = "", back, options }: Pick<FormPage, "base" | "back"> & {
    options: readonly ProviderOption[];
  },
) {
  return (
    <form method="post" action={`${base}/account/sign-in`}>
      <HiddenFields of={[["back", back || undefined]]} />
      <ProviderButtons options={options} />
    </form>
  );
}

interface ChooserProps extends PageProps {
  options: readonly ProviderOption[];
  /**
   * Hidden fields of the form: the id of the authorization request, and the
   * approved scopes.
   */
  fields: readonly (readonly [string, string])[];
  action: string;
}

/**
 * The page on which a person chooses a sign-in provider. Respond with `forms:
 * "any"`, because its form ends in a redirect to the provider.
 */
export function ChooserPage(
  { options, fields, action, ...page }: ChooserProps,
) {
  return (
    <CardPage {...page} title="Sign in" heading="Where do you sign in?">
      <p class="lead">
        Choose the account that you use here. Each of your accounts is someone
        else to this server.
      </p>
      <form method="post" action={action}>
        <HiddenFields of={fields} />
        <ProviderButtons options={options} />
        <div class="actions rowed">
          <button class="quiet" type="submit" name="decision" value="deny">
            Cancel
          </button>
        </div>
        <p class="small soft">The app was not told anything yet.</p>
      </form>
    </CardPage>
  );
}
