/**
 * The only stylesheet. It is inlined, with its hash in the CSP. So a page is a
 * single response, no separate file can be outdated, and a consent page needs
 * no second request to be readable.
 * @module
 */
import { LIST_STYLE } from "./list_style.ts";

export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #f7f6f3;
  --card: #ffffff;
  --ink: #1d1f1e;
  --soft: #5c625f;
  --line: #e2e0da;
  --well: #f2f1ed;
  --accent: #1f6453;
  --accent-ink: #ffffff;
  --accent-wash: #e4f0eb;
  --warn: #7a4b00;
  --warn-wash: #fdf1da;
  --bad: #97281f;
  --bad-wash: #fbe9e6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #131615;
    --card: #1b1f1d;
    --ink: #e9ebe8;
    --soft: #a2aaa6;
    --line: #2e3431;
    --well: #141816;
    --accent: #86cdb7;
    --accent-ink: #0c1f19;
    --accent-wash: #1b322b;
    --warn: #f0c679;
    --warn-wash: #33280f;
    --bad: #f3a79d;
    --bad-wash: #3a1c18;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0;
  min-height: 100vh;
  padding: clamp(1.5rem, 6vw, 4.5rem) 1.125rem 3rem;
  background: var(--paper);
  color: var(--ink);
  font: 1rem/1.6 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Inter,
    Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
.page { max-width: 34rem; margin: 0 auto; }
.page.wide { max-width: 47rem; }
.page.full { max-width: 72rem; }
.brand {
  display: flex;
  align-items: center;
  gap: 0.6rem;
  margin: 0 0 1.25rem;
  color: var(--soft);
  font-size: 0.9375rem;
  font-weight: 550;
}
.brand svg { flex: none; width: 1.375rem; height: 1.375rem; color: var(--accent); }
main.card, .card {
  padding: clamp(1.375rem, 5vw, 2.25rem);
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 0.875rem;
}
h1, h2, h3 { line-height: 1.25; letter-spacing: -0.011em; text-wrap: balance; }
h1 { margin: 0 0 0.75rem; font-size: clamp(1.5rem, 5vw, 1.8125rem); font-weight: 650; letter-spacing: -0.02em; }
h2 { margin: 2.75rem 0 0.75rem; font-size: 1.1875rem; font-weight: 625; }
h3, .row-title { margin: 0; font-size: 1rem; font-weight: 600; }
p { margin: 0 0 0.875rem; text-wrap: pretty; }
p:last-child { margin-bottom: 0; }
.lead { color: var(--soft); font-size: 1.0625rem; }
.lead strong { color: var(--ink); }
.soft { color: var(--soft); }
.small { font-size: 0.875rem; line-height: 1.5; }
a { color: var(--accent); text-underline-offset: 0.18em; text-decoration-thickness: 0.07em; }
code {
  padding: 0.1em 0.35em;
  border-radius: 0.3rem;
  background: var(--well);
  font: 0.875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  overflow-wrap: anywhere;
}
pre { white-space: pre-wrap; }
:focus-visible { outline: 0.16rem solid var(--accent); outline-offset: 0.16rem; border-radius: 0.3rem; }

.facts { margin: 1.5rem 0 0; }
.facts > div { padding: 1rem 0; border-top: 1px solid var(--line); }
.facts dt { margin-bottom: 0.2rem; color: var(--soft); font-size: 0.875rem; }
.facts dd { margin: 0; }
.facts ul, .scopes { margin: 0.25rem 0 0; padding: 0; list-style: none; }
.facts li + li, .scopes li + li { margin-top: 0.5rem; }
.facts dd p + p { margin-top: 1rem; }
.facts ul + p { margin-top: 0.75rem; }
.claimed { font-weight: 400; }
.group { padding: 0.35rem 0; }
.group summary { padding: 0.35rem 0; color: var(--ink); }
.group summary .badge { margin-left: 0.5rem; }
.group summary .small { display: block; font-weight: 400; }
.group[open] .folded { display: none !important; }
label.scope { display: inline; font-weight: inherit; }
.scopes + p { margin-top: 0.6rem; }
li:has(> label.scope) { position: relative; padding-left: 1.5rem; }
label.scope input { position: absolute; top: 0.4rem; left: 0; width: auto; margin: 0; accent-color: var(--accent); }
.small label.scope input { top: 0.25rem; }

.badge {
  display: inline-block;
  padding: 0.05rem 0.5rem;
  border-radius: 1rem;
  background: var(--well);
  color: var(--soft);
  font-size: 0.8125rem;
  font-weight: 550;
}
.badge.good { background: var(--accent-wash); color: var(--accent); }
.badge.warn { background: var(--warn-wash); color: var(--warn); }
.badge.held { background: none; color: var(--ink); box-shadow: inset 0 0 0 1px var(--soft); }
.badge.bad { background: var(--bad-wash); color: var(--bad); }
.note {
  margin: 1.25rem 0;
  padding: 0.8rem 1rem;
  border-radius: 0.6rem;
  background: var(--well);
  font-size: 0.9375rem;
}
.note.good { background: var(--accent-wash); color: var(--accent); }
.note.warn { background: var(--warn-wash); color: var(--warn); }

.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-top: 1.75rem; }
.actions:has(> :nth-child(2)) > * { flex: 1 1 9rem; }
.actions.rowed > *, .actions > .whole { flex: 1 0 100%; }
.actions.rowed + * { margin-top: 0.75rem; }
button, .button {
  display: inline-block;
  padding: 0.65rem 1.25rem;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  background: transparent;
  color: var(--ink);
  font: inherit;
  font-weight: 575;
  line-height: 1.4;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}
button:hover, .button:hover { border-color: var(--soft); }
.primary { border-color: var(--accent); background: var(--accent); color: var(--accent-ink); }
.primary:hover { border-color: var(--accent); filter: brightness(1.08); }
button.quiet, .button.quiet { padding: 0.3rem 0.7rem; font-size: 0.875rem; }
.danger { color: var(--bad); }
.danger:hover { border-color: var(--bad); }

label { display: block; margin-top: 1.5rem; font-weight: 575; }
input:not([type=checkbox], [type=radio]), select, textarea {
  width: 100%;
  height: 2.9rem;
  margin-top: 0.4rem;
  padding: 0.6rem 0.75rem;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  background: var(--well);
  color: inherit;
  font: inherit;
  font-weight: 400;
}
textarea { height: auto; }

${LIST_STYLE}`;
