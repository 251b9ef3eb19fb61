/**
 * Views: pages that a client with MCP Apps shows for a tool's result.
 *
 * @module
 * @see MCP Apps 2026-01-26, UI Resource Format
 */

/** A sample call to show in development, while the view is written. */
export interface ViewSample<
  I = Record<string, unknown>,
  O = Record<string, unknown>,
> {
  /** The arguments. */
  input: I;
  /**
   * The tool's output, to show without a call. If it is absent, the tool is
   * called.
   */
  data?: O;
  /** With `data`: the `meta` that the tool gives to the view alone. */
  meta?: Record<string, unknown>;
}

/** A page for a tool, with the client features it needs. */
export interface ToolView {
  /**
   * A whole HTML document, with its styles, scripts and pictures within it:
   * `import html from "./chart.html" with { type: "text" }`. In place of
   * `<script src="tool-server/view"></script>` it gets the script that speaks
   * with the client.
   */
  html: string;
  /**
   * True if it looks better with a border, false if without; by default the
   * client decides.
   */
  border?: boolean;
  /** Origins the view may fetch from, such as `https://api.example.com`. */
  connect?: readonly string[];
  /** Origins the view may load scripts, styles, fonts and pictures from. */
  load?: readonly string[];
  /** Origins the view may show in frames. */
  frames?: readonly string[];
  /** Browser permissions the view may ask for; a client may refuse. */
  permissions?: readonly (
    | "camera"
    | "microphone"
    | "geolocation"
    | "clipboard-write"
  )[];
  /** Your own https origin, which ChatGPT asks for at submission. */
  domain?: string;
}
