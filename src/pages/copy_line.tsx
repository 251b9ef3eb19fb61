/** @jsxImportSource @hono/hono/jsx */
/**
 * A line to copy.
 *
 * @module
 */

/** The text; the button appears where scripts run. */
export function CopyLine({ text, label }: { text: string; label: string }) {
  return (
    <div class="line">
      <code>{text}</code>
      <button
        class="quiet"
        type="button"
        data-copy={text}
        aria-label={label}
        hidden
      >
        Copy
      </button>
    </div>
  );
}
