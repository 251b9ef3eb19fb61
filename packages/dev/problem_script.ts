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
  addEventListener("error", ({ message, lineno }) => {
    if (message) tell(lineno ? message + " (line " + lineno + ")" : message);
  });
  addEventListener("unhandledrejection", ({ reason }) => {
    tell(reason?.message ?? reason);
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
