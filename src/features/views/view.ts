/**
 * The view's end of the channel to its host, and a tool's result for views.
 *
 * @module
 */
import type { Loose } from "./host_channel.ts";

/** The progress of the tool call that opened a view. */
export type ViewStatus =
  /** The host has not answered yet. */
  | "connecting"
  /** The model is still writing the arguments. */
  | "arriving"
  /** The tool is running. */
  | "running"
  /** There is a result. */
  | "done"
  /** The tool or the host failed; `text` says why. */
  | "failed"
  /** The call was cancelled; `text` may say why. */
  | "cancelled"
  /** The page has no host around it. */
  | "alone";

/** The way in which a host shows a view. */
export type DisplayMode = "inline" | "fullscreen" | "pip";

/** A tool's result as its view gets it. */
export interface ViewResult<O = Record<string, unknown>> {
  /**
   * The tool's output. If the host drops it, it is parsed from the text. Absent
   * if the text is not JSON.
   */
  data?: O;
  /** The text of the content blocks, which the model reads too. */
  text: string;
  /** The content blocks as the protocol has them. */
  content: readonly { type: string; [member: string]: unknown }[];
  /** The tool's `meta`, which only the view gets. */
  meta: Readonly<Record<string, unknown>>;
}

/** The capabilities of the host. */
export interface ViewAbilities {
  /** True if the host can call tools. */
  call: boolean;
  /** True if the host can read resources. */
  read: boolean;
  /** True if the host can send a message as the person. */
  say: boolean;
  /** True if the host can add to the model's context. */
  tell: boolean;
  /** True if the host can save files. */
  download: boolean;
  /** The display modes that the host offers. */
  modes: readonly DisplayMode[];
}

/** The state that a view renders. */
export interface ViewState<
  I = Record<string, unknown>,
  O = Record<string, unknown>,
> extends ViewResult<O> {
  /** The progress of the tool call. */
  status: ViewStatus;
  /** The arguments. While they are `arriving`, members may be missing. */
  input?: Partial<I>;
  /** The theme. It is also set as `data-theme` of the document's root. */
  theme: "light" | "dark";
  /** The current display mode. */
  mode: DisplayMode;
  /** The capabilities of the host. */
  can: ViewAbilities;
  /** The host's name and version, if it gives them. */
  host?: { name: string; version: string };
  /** The other members of the host's context, such as `locale`. */
  context: Readonly<Record<string, unknown>>;
}

/** The view's end of the channel to its host. */
export interface View<
  I = Record<string, unknown>,
  O = Record<string, unknown>,
> {
  /** The current state. A change makes a new object. */
  readonly state: ViewState<I, O>;
  /**
   * Calls `render` now and after every change.
   *
   * @returns a function that ends these calls
   */
  show(render: (state: ViewState<I, O>) => void): () => void;
  /**
   * Calls a tool of the same server.
   *
   * @throws {Error} with the tool's message if the tool fails, with the host's
   * if the host refuses
   */
  call<T = Record<string, unknown>>(
    name: string,
    input?: Record<string, unknown>,
  ): Promise<ViewResult<T>>;
  /** Reads a resource of the same server. */
  read(uri: string): Promise<
    readonly { uri: string; mimeType?: string; text?: string; blob?: string }[]
  >;
  /** Opens a URL outside the view. Links in the page do this by themselves. */
  open(url: string): Promise<void>;
  /** Sends a message to the conversation, as the person. */
  say(text: string): Promise<void>;
  /**
   * Sets what the view adds to the model's context, in place of what it added
   * before.
   */
  tell(text: string, data?: Record<string, unknown>): Promise<void>;
  /** Asks for another display mode. Returns the mode that the host chose. */
  display(mode: DisplayMode): Promise<DisplayMode>;
  /** Saves a text as a file. */
  download(name: string, text: string, mimeType?: string): Promise<void>;
  /** Sets a function to run before the host removes the view. */
  beforeEnd(finish: () => void | Promise<void>): void;
}

/**
 * Makes a tool's result for its view. The source text of this function is put
 * into a page.
 */
export function viewResult<O>(
  { structuredContent, content = [], _meta }: Loose,
): ViewResult<O> {
  const texts: string[] = content.flatMap(({ type, text }: Loose) =>
    type === "text" ? [text] : []
  );
  let data = structuredContent;
  // Claude Desktop drops structuredContent; the text has it too.
  for (const text of texts) {
    if (data !== undefined) break;
    try {
      const value = JSON.parse(text);
      if (typeof value === "object") data = value ?? undefined;
    } catch {
      // The text is for people, and no JSON.
    }
  }
  return {
    ...(data !== undefined && { data }),
    text: texts.join("\n"),
    content,
    meta: _meta ?? {},
  };
}
