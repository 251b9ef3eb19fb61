/**
 * What a view is given in development besides its own: whatever goes wrong in
 * it is told to the page around it. It is one line, so that lines keep their
 * numbers. Libraries try whether they may `eval`; where that matters, there is
 * an error as well.
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
