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
  /** The output to show. If it is absent, the tool is called. */
  data?: O;
  /** With `data`: the `meta` for the view. */
  meta?: Record<string, unknown>;
}

/** A page for a tool, with the client features it needs. */
export interface ToolView {
  /**
   * A whole HTML document that contains its styles, scripts and pictures:
   * `import html from "./chart.html" with { type: "text" }`. `<script
   * src="tool-server/view"></script>` becomes the script by which it
   * communicates with the client.
   */
  html: string;
  /** True for a border, false for none; by default the client decides. */
  border?: boolean;
  /** Origins to fetch from, such as `https://api.example.com`. */
  connect?: readonly string[];
  /** Origins of scripts, styles, fonts and pictures. */
  load?: readonly string[];
  /** Origins of frames. */
  frames?: readonly string[];
  /** Browser permissions to ask for; a client may refuse. */
  permissions?: readonly (
    | "camera"
    | "microphone"
    | "geolocation"
    | "clipboard-write"
  )[];
  /** Your https origin, for ChatGPT's submission. */
  domain?: string;
}
