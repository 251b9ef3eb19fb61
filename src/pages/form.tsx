/** @jsxImportSource @hono/hono/jsx */
/**
 * The forms of the account: each says on whose page it is, and where to come
 * back to.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { PageProps } from "./layout.tsx";

/** The page of the account that a form is on. */
export interface FormPage extends Pick<PageProps, "base"> {
  /** The CSRF token of this rendering. */
  csrf: string;
  /** The place to come back to; absent: the first part. */
  back?: string;
}

/** Hidden fields; those that are undefined are left out. */
export function HiddenFields(
  { of }: { of: Iterable<readonly [name: string, value?: string]> },
) {
  return (
    <>
      {[...of].map(([name, value]) =>
        value !== undefined && <input type="hidden" name={name} value={value} />
      )}
    </>
  );
}

/** A form of the account, posted to an address below the base. */
export function AccountForm(
  { base = "", csrf, back, to, fields, children, ...attributes }: FormPage & {
    /** `/account/end`. */
    to: string;
    /** Further hidden fields. */
    fields?: Readonly<Record<string, string>>;
    class?: string;
    autocomplete?: "off";
    children: Child;
  },
) {
  return (
    <form method="post" action={`${base}${to}`} {...attributes}>
      <HiddenFields
        of={Object.entries({ csrf, back: back || undefined, ...fields })}
      />
      {children}
    </form>
  );
}
