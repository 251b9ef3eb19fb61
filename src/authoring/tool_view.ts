/**
 * Views: what a client with MCP Apps shows of a tool's result.
 *
 * @module
 * @see MCP Apps 2026-01-26, UI Resource Format
 */

/** What a view may ask the browser for. */
export type ViewPermission =
  | "camera"
  | "microphone"
  | "geolocation"
  | "clipboard-write";

/** A call to look at while one writes a view; only its page reads it. */
export interface ViewSample<
  I = Record<string, unknown>,
  O = Record<string, unknown>,
> {
  /** The arguments. */
  input: I;
  /** The tool's output, to show without a call; absent, the tool is called. */
  data?: O;
  /** With `data`: what the tool gives to the view alone. */
  meta?: Record<string, unknown>;
}

/** A page for a tool, with what it needs of the client. */
export interface ToolView {
  /**
   * A whole HTML document, with its styles, scripts and pictures within it:
   * `import html from "./chart.html" with { type: "text" }`. In place of
   * `<script src="tool-server/view"></script>` it gets the script that speaks
   * with the client.
   */
  html: string;
  /** Whether it looks better with a border around it; clients decide else. */
  border?: boolean;
  /** Origins it may fetch from, such as `https://api.example.com`. */
  connect?: readonly string[];
  /** Origins it may load scripts, styles, fonts and pictures from. */
  load?: readonly string[];
  /** Origins it may show in frames. */
  frames?: readonly string[];
  /** What it may ask the browser for; a client may refuse. */
  permissions?: readonly ViewPermission[];
  /** The https origin of your own that ChatGPT asks for at submission. */
  domain?: string;
}
