/**
 * What the script of a view works with.
 *
 * @module
 */

/** How far the call is that a view was opened for. */
export type ViewStatus =
  /** The host has not answered yet. */
  | "connecting"
  /** The model is still writing the arguments. */
  | "arriving"
  /** The tool is running. */
  | "running"
  /** There is a result. */
  | "done"
  /** The tool failed, or the host did; `text` says why. */
  | "failed"
  /** The call was cancelled; `text` may say why. */
  | "cancelled"
  /** The page was opened without a host around it. */
  | "alone";

/** How much room a view has. */
export type DisplayMode = "inline" | "fullscreen" | "pip";

/** What a tool gave to a view. */
export interface ViewResult<O = Record<string, unknown>> {
  /** The tool's output. Some hosts drop it, and the text is then no JSON. */
  data?: O;
  /** The text of the content, which the model reads too. */
  text: string;
  /** The content as the wire has it. */
  content: readonly { type: string; [member: string]: unknown }[];
  /** What the tool gave to the view alone. */
  meta: Readonly<Record<string, unknown>>;
}

/** What the host around a view can do for it. */
export interface ViewAbilities {
  /** It calls tools. */
  call: boolean;
  /** It reads resources. */
  read: boolean;
  /** It says something in the person's name. */
  say: boolean;
  /** It lets the model know something. */
  tell: boolean;
  /** It saves a file. */
  download: boolean;
  /** How much room it can give. */
  modes: readonly DisplayMode[];
}

/** Everything that a view shows may depend on. */
export interface ViewState<
  I = Record<string, unknown>,
  O = Record<string, unknown>,
> extends ViewResult<O> {
  /** How far the call is. */
  status: ViewStatus;
  /** The arguments; members may be missing while they are `arriving`. */
  input?: Partial<I>;
  /** Also the attribute `data-theme` of the document's root. */
  theme: "light" | "dark";
  /** How much room there is now. */
  mode: DisplayMode;
  /** What the host can do. */
  can: ViewAbilities;
  /** The host's name and version, where it says them. */
  host?: { name: string; version: string };
  /** Everything else that the host says of itself, such as `locale`. */
  context: Readonly<Record<string, unknown>>;
}

/** A view's side of the conversation with its host. */
export interface View<
  I = Record<string, unknown>,
  O = Record<string, unknown>,
> {
  /** What there is to show now. A change makes a new object. */
  readonly state: ViewState<I, O>;
  /**
   * Calls `render` now and after every change.
   *
   * @returns what ends it
   */
  show(render: (state: ViewState<I, O>) => void): () => void;
  /**
   * Calls a tool of the same server.
   *
   * @throws {Error} with the tool's words when it fails, with the host's when
   * that refuses
   */
  call<T = Record<string, unknown>>(
    name: string,
    input?: Record<string, unknown>,
  ): Promise<ViewResult<T>>;
  /** Reads a resource of the same server. */
  read(uri: string): Promise<
    readonly { uri: string; mimeType?: string; text?: string; blob?: string }[]
  >;
  /** Opens an address outside. Links in the page do so by themselves. */
  open(url: string): Promise<void>;
  /** Says something in the conversation, as the person. */
  say(text: string): Promise<void>;
  /** What the model should know from now on, in place of what it knew before. */
  tell(text: string, data?: Record<string, unknown>): Promise<void>;
  /** Asks for more room, or less, and gives what there is then. */
  display(mode: DisplayMode): Promise<DisplayMode>;
  /** Saves a text as a file. */
  download(name: string, text: string, mimeType?: string): Promise<void>;
  /** Runs before the host removes the view. */
  beforeEnd(finish: () => void | Promise<void>): void;
}
