/**
 * The development page's list of messages between the view and its host, and of
 * problems.
 *
 * @module
 */

import type { HostSide, Loose } from "./host_view.ts";

export type MessageLog = ReturnType<typeof messageLog>;

/** Makes the list. The source text of this function runs in the page. */
export function messageLog(document: Loose) {
  const at = (id: string): Loose => document.getElementById(id);

  function make(name: string, text = "", className = ""): Loose {
    const element = document.createElement(name);
    element.textContent = text;
    element.className = className;
    return element;
  }

  /** Adds an entry on top. */
  function note(who: string, what: string, detail?: unknown): void {
    const item = make("li", "", who);
    const head = make(detail === undefined ? "p" : "summary", what);
    head.prepend(make("b", who));
    if (detail === undefined) item.append(head);
    else {
      const details = make("details");
      details.append(head, make("pre", JSON.stringify(detail, null, 2)));
      item.append(details);
    }
    at("log").prepend(item);
    at("log").children[300]?.remove();
  }

  /** Shows a problem above the view, until another view is shown. */
  function complain(words: string): void {
    note("error", words);
    at("problem").hidden = false;
    at("problem").append(make("p", words));
  }

  /**
   * Makes the `watch` callback for one view, which adds messages to the list.
   */
  function watchOne(): HostSide["watch"] {
    const asked = new Map<string, string>();
    return (from, { id, method, params, result, error }) => {
      if (method !== undefined) {
        const name = params?.name ?? params?.uri;
        const what = name === undefined ? method : `${method} ${name}`;
        if (id !== undefined) asked.set(`${from} ${id}`, what);
        return note(from, what, params);
      }
      const what = asked.get(`${from === "view" ? "host" : "view"} ${id}`);
      note(from, `${error ? "refuses" : "answers"} ${what}`, error ?? result);
      if (error) complain(`${what}: ${error.message}`);
    };
  }

  return { make, note, complain, watchOne };
}
