/** @jsxImportSource @hono/hono/jsx */
/**
 * The page on which a person chooses where to sign in, after consent, if there
 * are several providers.
 *
 * @module
 */
import { HiddenFields } from "./form.tsx";
import { CardPage, type PageProps } from "./layout.tsx";
import { ProviderButtons, type ProviderOption } from "./provider_buttons.tsx";

/** The contents of the page. */
export interface ChooserProps extends PageProps {
  options: readonly ProviderOption[];
  /** Hidden fields of the form: the handle, and what was approved. */
  fields: readonly (readonly [string, string])[];
  /** The address that the form is posted to. */
  action: string;
}

/** The page, one form. Send it with `forms: "any"`. */
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
        <p class="small soft">
          The app was not told anything yet.{" "}
          <button class="quiet" type="submit" name="decision" value="deny">
            Cancel
          </button>
        </p>
      </form>
    </CardPage>
  );
}
