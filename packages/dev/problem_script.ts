/**
 * A script that a view gets only in development: it reports errors in the view
 * to the page around it. It is one line, so that line numbers stay right. It
 * does not report a blocked `eval`: libraries try whether they may, and if it
 * matters, an error follows.
 *
 * @module
 */

/** The element, for the very beginning of a document. */
export const PROBLEM_SCRIPT = `<script>${
  `
(() => {
  const tell = (words) => parent.postMessage({ viewProblem: String(words) }, "*");
  const tellWhere = (message, line) =>
    tell(line ? message + " (line " + line + ")" : message);
  addEventListener("error", ({ message, lineno }) => {
    if (message) tellWhere(message, lineno);
  });
  addEventListener("unhandledrejection", ({ reason }) => {
    tellWhere(reason?.message ?? reason, /:(\\d+):\\d+/.exec(reason?.stack)?.[1]);
  });
  addEventListener("securitypolicyviolation", (event) => {
    if (event.blockedURI === "eval") return;
    tell(event.effectiveDirective + " does not allow " + event.blockedURI +
      ": see connect, load and frames of the view");
  });
  const { error } = console;
  console.error = (...words) => { tell(words.join(" ")); error.apply(console, words); };
})();`.replaceAll(/\s*\n\s*/g, " ")
}</script>`;
