/**
 * State of the development page that survives a reload while its tab is open.
 *
 * @module
 */
import type { Loose } from "./host_view.ts";

export interface Remembered {
  tool?: string;
  theme: "light" | "dark";
  width: string;
  /** The arguments as written, keyed by tool. */
  inputs: Record<string, string>;
  /** The result shown last, keyed by tool. */
  shown: Record<string, { input: Loose; result: Loose; isCalled: boolean }>;
}

/** Opens the state. The source text of this function runs in the page. */
export function pageMemory(page: Loose) {
  const { sessionStorage: kept } = page;
  const remembered: Remembered = {
    theme: page.matchMedia("(prefers-color-scheme: dark)").matches
      ? "dark"
      : "light",
    width: "720",
    inputs: {},
    shown: {},
    ...JSON.parse(kept.getItem("views") ?? "{}"),
  };

  function remember(more: Partial<Remembered>): void {
    Object.assign(remembered, more);
    try {
      kept.setItem("views", JSON.stringify(remembered));
    } catch {
      // A result of megabytes does not fit: a reload loses it.
    }
  }

  return { remembered, remember };
}
