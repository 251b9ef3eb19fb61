/**
 * The script of a view, for pages that a bundler makes. Other pages load it by
 * `<script src="tool-server/view"></script>`, and find it in the global `view`.
 *
 * @example
 * ```ts
 * import { connectView } from "@tool-server/tool-server/view";
 *
 * const view = connectView<{ city: string }, { degrees: number }>();
 * view.show(({ status, input, data, text }) => {
 *   if (status === "done") console.log(input?.city, data?.degrees);
 *   if (status === "failed") console.log(text);
 * });
 * ```
 *
 * @module
 */
import { hostChannel } from "./features/views/host_channel.ts";
import { makeView } from "./features/views/make_view.ts";
import { type View, viewResult } from "./features/views/view.ts";

export type {
  DisplayMode,
  View,
  ViewAbilities,
  ViewResult,
  ViewState,
  ViewStatus,
} from "./features/views/view.ts";

/**
 * Connects a page to the host around it. In a bundled page, import it;
 * elsewhere `<script src="tool-server/view"></script>` connects the page and
 * stores the result in `view`.
 */
export function connectView<
  I = Record<string, unknown>,
  O = Record<string, unknown>,
>(window: object = globalThis): View<I, O> {
  return makeView(window, hostChannel, viewResult);
}
