/** @jsxImportSource @hono/hono/jsx */
/**
 * A button for each provider that people sign in at.
 *
 * @module
 */

/** A provider that a person may choose. */
export interface ProviderOption {
  /** Its value in the form; undefined: there is no other. */
  key?: string;
  /** "GitHub", "Google" or the host of the provider. */
  name: string;
  /** True if this browser used it last. */
  isLast?: boolean;
}

/** The buttons; the one that was used last, or the only one, stands out. */
export function ProviderButtons(
  { options }: { options: readonly ProviderOption[] },
) {
  return (
    <div class="actions">
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
