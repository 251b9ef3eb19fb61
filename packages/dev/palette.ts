/**
 * The colours of our host: as the standard's variables, which a view may use,
 * and as the page's own.
 *
 * @module
 * @see MCP Apps 2026-01-26, Theming
 */

/** Variables by the theme. */
export type Palette = Record<"light" | "dark", Record<string, string>>;

/** The variables. */
export const PALETTE: Palette = {
  light: {
    "--color-background-primary": "#ffffff",
    "--color-background-secondary": "#f4f3ef",
    "--color-background-tertiary": "#e9e7e1",
    "--color-text-primary": "#1d1f1e",
    "--color-text-secondary": "#5c625f",
    "--color-text-tertiary": "#757b78",
    "--color-text-danger": "#97281f",
    "--color-border-primary": "#e2e0da",
    "--color-border-secondary": "#cfccc4",
    "--color-ring-primary": "#1f6453",
    "--font-sans": 'ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif',
    "--font-mono": "ui-monospace, SFMono-Regular, Menlo, monospace",
    "--border-radius-md": "8px",
    "--border-radius-lg": "12px",
  },
  dark: {
    "--color-background-primary": "#1b1f1d",
    "--color-background-secondary": "#242927",
    "--color-background-tertiary": "#2e3431",
    "--color-text-primary": "#e9ebe8",
    "--color-text-secondary": "#a2aaa6",
    "--color-text-tertiary": "#88908c",
    "--color-text-danger": "#f3a79d",
    "--color-border-primary": "#2e3431",
    "--color-border-secondary": "#414845",
    "--color-ring-primary": "#86cdb7",
    "--font-sans": 'ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif',
    "--font-mono": "ui-monospace, SFMono-Regular, Menlo, monospace",
    "--border-radius-md": "8px",
    "--border-radius-lg": "12px",
  },
};
