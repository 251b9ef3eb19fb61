/**
 * Styles of lists: clients, parts of the account page, tools, rows and tables;
 * and styles that must come last.
 * @module
 */

/** The second part of the stylesheet. */
export const LIST_STYLE =
  `.picker { display: flex; flex-wrap: wrap; gap: 0.5rem; min-width: 0; margin: 0; }
.picker label {
  margin: 0;
  padding: 0.35rem 0.8rem;
  border: 1px solid var(--line);
  border-radius: 2rem;
  font-size: 0.9375rem;
  cursor: pointer;
}
.picker label:hover { border-color: var(--soft); }
.picker :checked + label { border-color: var(--accent); background: var(--accent-wash); color: var(--accent); }
.picker :focus-visible + label { outline: 0.16rem solid var(--accent); outline-offset: 0.16rem; }
.guide { display: none; order: 1; flex: 1 0 100%; min-width: 0; padding-top: 1rem; }
.picker :checked + label + .guide { display: block; }
.guide .line { margin: 0.875rem 0; }
h2.near { margin-top: 1.5rem; }
@media (max-width: 30rem) {
  .picker { gap: 0.4rem; padding: 1rem; }
  .picker label { padding: 0.25rem 0.65rem; }
}

.parts { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; margin: 0.75rem 0 2rem; padding-bottom: 0.75rem; border-bottom: 1px solid var(--line); }
.parts ul { display: flex; flex-wrap: wrap; gap: 0.25rem; margin: 0 -0.7rem; padding: 0; list-style: none; }
.parts ul + ul { padding-left: 1.5rem; border-left: 1px solid var(--line); }
.parts a { display: block; padding: 0.3rem 0.7rem; border-radius: 2rem; color: var(--ink); font-size: 0.9375rem; text-decoration: none; }
.parts a:hover { background: var(--well); }
.parts a[aria-current] { background: var(--accent-wash); color: var(--accent); font-weight: 575; }
@media (max-width: 48rem) {
  .parts ul { flex: 1 0 100%; gap: 0.1rem 0; margin: 0 -0.5rem; }
  .parts ul + ul { padding: 0.5rem 0 0; border-top: 1px solid var(--line); border-left: 0; }
  .parts a { padding: 0.3rem 0.5rem; font-size: 0.875rem; }
}
@media (forced-colors: active) { .parts a[aria-current] { border: 1px solid; } }

.tools { padding-block: 0.5rem; }
.tools ul { margin: 0; padding: 0; list-style: none; }
.tools li { padding: 0.7rem 0; }
.tools li + li, .tools details { border-top: 1px solid var(--line); }
.tools li p { margin: 0.15rem 0 0; }
.tools h3 code { font-weight: 400; }
summary { padding: 0.7rem 0; color: var(--accent); font-weight: 575; cursor: pointer; }

main.development {
  border-top: 0.75rem solid;
  border-image: repeating-linear-gradient(135deg, var(--warn) 0 0.75rem, var(--warn-wash) 0.75rem 1.5rem) 12 0 0 / 0.75rem 0 0;
  border-radius: 0;
}

.line {
  display: flex;
  align-items: stretch;
  margin: 0.6rem 0;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  background: var(--well);
}
.line code {
  flex: 1;
  min-width: 0;
  padding: 0.6rem 0.85rem;
  background: none;
  white-space: pre-wrap;
}
.line button { margin: 0.3rem 0.3rem 0.3rem 0; background: var(--card); align-self: start; }
.rows { margin: -0.5rem 0; padding: 0; list-style: none; }
.rows > li { padding: 1.125rem 0; border-top: 1px solid var(--line); }
.rows > li:first-child { border-top: 0; padding-top: 0.25rem; }
.rows > li:last-child { padding-bottom: 0; }
.sign-in + .sign-in { margin-top: 0.75rem; }
.row-head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0.35rem 1rem; }
.row-head + p { margin-top: 0.35rem; }
.row-title { flex: 1 1 12rem; min-width: 0; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.asked summary { display: inline-block; white-space: nowrap; color: var(--bad); list-style: none; }
.asked summary::-webkit-details-marker { display: none; }
.asked[open] { flex: 1 1 14rem; }
.asked-for { max-width: 24rem; margin: 0.5rem 0; padding: 0.75rem; border: 1px solid var(--line); border-radius: 0.6rem; background: var(--well); font-size: 0.9375rem; text-align: start; }
.asked .asked-for button { white-space: normal; }
.rows .asked, td .asked { margin: 0; }
td div + .asked, td br ~ .asked { margin-top: 0.4rem; }
.rows details:not(.asked) { margin-top: 0.35rem; }
.rows details:not(.asked) > summary { width: fit-content; padding: 0.3rem 0; }
.narrow { padding: 0.5rem 0 0.75rem; }
.narrow fieldset { margin-top: 0; }
.facts.kept { margin: -0.6rem 0 0; }
.facts.kept > div { display: flex; flex-wrap: wrap; gap: 0.1rem 2rem; padding: 0.6rem 0; }
.facts.kept > div:first-child { border-top: 0; }
.facts.kept dt { flex: 3 1 14rem; margin: 0; color: var(--ink); font-size: 1rem; }
.facts.kept dd { flex: 2 1 11rem; color: var(--soft); font-size: 0.875rem; line-height: 1.8; }
form + p { margin-top: 1rem; }
p + .rows { margin-top: 0.75rem; }
.rows + form { margin-top: 1.5rem; border-top: 1px solid var(--line); }
.rows + form > p { margin-top: 1rem; }
.card ul.small { padding-left: 1.1rem; }
label.tick { display: flex; align-items: baseline; gap: 0.5rem; }
.rows label { margin-top: 0.75rem; }
.rows label.tick { font-weight: inherit; }
.rows .actions { margin-top: 1rem; }
.block { display: block; }
label .soft { font-weight: 400; }
label.tick input, fieldset input, .narrow input { accent-color: var(--accent); }
fieldset { margin: 1.25rem 0 1rem; padding: 0; border: 0; }
legend { padding: 0; font-weight: 575; }
.filter { display: flex; flex-wrap: wrap; align-items: end; gap: 0.75rem; margin-bottom: 1rem; }
.filter label { flex: 1 1 9rem; margin: 0; font-size: 0.875rem; }
.filter button { flex: none; }
.said { white-space: pre-line; overflow-wrap: anywhere; }
.rows p { margin: 0.25rem 0 0; }
.rows ul { margin: 0; padding-left: 1.1rem; }
.rows .scopes { padding: 0; }

table { width: 100%; margin: -0.75rem 0; border-collapse: collapse; font-size: 0.9375rem; }
td:last-child, th:last-child { padding-right: 0; }
.unbroken { white-space: nowrap; }
th { color: var(--soft); font-size: 0.875rem; font-weight: 500; text-align: left; }
th, td { padding: 0.75rem 1.25rem 0.75rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; }
time, th { white-space: nowrap; }
@media (min-width: 48rem) { td .badge, td:first-child + td code { white-space: nowrap; } }
@media (max-width: 48rem) {
  table, tbody, tr, td { display: block; }
  table { margin: 0; }
  tr { position: relative; }
  td[data-label=""] { position: absolute; top: -0.3rem; right: 0; }
  tr + tr td[data-label=""] { top: 0.7rem; }
  tr:has([data-label=""]) td:first-child { padding-right: 5.5rem; }
  td:empty { display: none; }
  tr td[data-label=""]:has([open]) { position: static; padding-top: 0.6rem; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr + tr { margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line); }
  td { padding: 0.3rem 0; border: 0; }
  td[data-label]:not([data-label=""])::before {
    content: attr(data-label);
    display: block;
    color: var(--soft);
    font-size: 0.8125rem;
  }
}
@media (max-width: 48rem) {
  .compact tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.15rem 0.75rem; }
  .compact tr + tr { margin-top: 0.75rem; padding-top: 0.75rem; }
  .compact td { padding: 0; }
  .compact td[data-label]:not([data-label=""])::before { content: none; }
  .compact td:nth-child(3) { flex: 1 0 100%; }
}
footer { display: flex; flex-wrap: wrap; gap: 0.35rem 1.25rem; margin-top: 1.5rem; color: var(--soft); font-size: 0.875rem; }
[hidden] { display: none !important; }
.visually-hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
@media (forced-colors: active) { .primary { border-width: 2px; } }
`;
