/**
 * The style of the development page, in addition to the style of all pages. It
 * also offers its colours to views.
 *
 * @module
 * @see MCP Apps 2026-01-26, Theming
 */

/** The CSS variables of MCP Apps that a view may use, by theme. */
export type Palette = Record<"light" | "dark", Record<string, string>>;

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

function variables(theme: "light" | "dark"): string {
  return Object.entries(PALETTE[theme])
    .map(([name, value]) => `${name}: ${value};`).join(" ");
}

export const HOST_STYLE = `
body { padding-top: 1.5rem; }
.page.full { max-width: 90rem; }
.desk { display: grid; grid-template-columns: 20rem minmax(0, 1fr); gap: 2rem; align-items: start; }
@media (max-width: 60rem) { .desk { grid-template-columns: minmax(0, 1fr); } }
.controls label, .controls .label { display: block; margin: 1.25rem 0 0.4rem; font-size: 0.875rem; font-weight: 575; }
.controls h1 { margin: 0; }
.controls .badge { vertical-align: middle; letter-spacing: 0; }
.controls .note { margin: 1rem 0 0; }
select, textarea {
  width: 100%;
  padding: 0.55rem 0.7rem;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  background: var(--card);
  color: inherit;
  font: inherit;
}
textarea { font: 0.8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; resize: vertical; }
#about { margin: 0.5rem 0 0; }
.row { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-top: 0.5rem; }
#samples-field .row, .label + .row { margin-top: 0; }
.controls details { margin-top: 1rem; border-top: 1px solid var(--line); }
.looks { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-bottom: 1rem; }
.choice { display: flex; margin: 0; padding: 0.2rem; border: 1px solid var(--line); border-radius: 0.7rem; background: var(--card); }
.choice label { margin: 0; font-weight: 500; font-size: 0.875rem; cursor: pointer; }
.choice input { position: absolute; opacity: 0; }
.choice span { display: block; padding: 0.25rem 0.8rem; border-radius: 0.5rem; }
.choice :checked + span { background: var(--accent-wash); color: var(--accent); }
.choice :focus-visible + span { outline: 0.16rem solid var(--accent); outline-offset: 0.1rem; }
.problem { margin-bottom: 1rem; padding: 0.8rem 1rem; border-radius: 0.6rem; background: var(--bad-wash); color: var(--bad); font-size: 0.9375rem; }
.stage {
  ${variables("light")}
  padding: clamp(0.75rem, 3vw, 2rem);
  border: 1px solid var(--line);
  border-radius: 0.875rem;
  background: var(--color-background-primary);
  color: var(--color-text-primary);
}
.stage[data-theme="dark"] { ${variables("dark")} }
.column { max-width: 720px; margin: 0 auto; }
.stage[data-width="390"] { padding-inline: 0.75rem; }
.stage[data-width="390"] .column { max-width: 390px; }
.stage[data-width="full"] .column { max-width: none; }
/* With another color scheme than the page inside, the frame would be white. */
.stage iframe { display: block; width: 100%; height: 8rem; border: 0; background: transparent; color-scheme: light; }
.stage #leave { display: none; }
.stage[data-mode="fullscreen"] { position: fixed; inset: 0; z-index: 1; padding: 3.5rem 1rem 1rem; border: 0; border-radius: 0; overflow: auto; }
.stage[data-mode="fullscreen"] .column { max-width: none; }
.stage[data-mode="fullscreen"] iframe { min-height: calc(100vh - 5rem); }
.stage[data-mode="fullscreen"] #leave { display: block; position: fixed; top: 0.75rem; right: 1rem; color: inherit; }
#said { display: grid; gap: 0.5rem; margin: 0; padding: 0 0.25rem; list-style: none; }
#said:not(:empty) { margin-top: 1rem; }
#said .person { justify-self: end; max-width: 80%; padding: 0.6rem 0.9rem; border-radius: 1.1rem; background: var(--color-background-tertiary); }
#said .known { color: var(--color-text-secondary); font-size: 0.875rem; }
.log { max-height: 26rem; margin: 0; padding: 0; overflow: auto; border: 1px solid var(--line); border-radius: 0.6rem; background: var(--card); font-size: 0.875rem; list-style: none; }
.log:empty::after { content: "What the view and the page say to each other."; display: block; padding: 0.7rem 1rem; color: var(--soft); }
.log li + li { border-top: 1px solid var(--line); }
.log p, .log summary { margin: 0; padding: 0.4rem 1rem; color: inherit; font-weight: 400; }
.log b { display: inline-block; width: 3.25rem; color: var(--soft); font-weight: 500; }
.log .view b { color: var(--accent); }
.log .error, .log .error b { color: var(--bad); }
.log pre { margin: 0; padding: 0 1rem 0.7rem; overflow: auto; font-size: 0.75rem; }
`;
