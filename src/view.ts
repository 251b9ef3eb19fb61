/**
 * The script of a view, for pages that a bundler makes. Other pages get it as
 * `view`, by `<script src="tool-server/view"></script>`.
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
export { connectView } from "./view/connect_view.ts";
export type {
  DisplayMode,
  View,
  ViewAbilities,
  ViewResult,
  ViewState,
  ViewStatus,
} from "./view/view.ts";
