/**
 * The views of a catalogue's tools.
 *
 * @module
 * @see MCP Apps 2026-01-26, Resource Discovery
 */
import type { Tool } from "../../authoring/tool.ts";
import type {
  CatalogueAddition,
  CatalogueFeature,
} from "../../core/catalogue/compiled_definitions.ts";
import {
  type CompiledView,
  compileView,
  viewMetaOf,
  viewPrefix,
  VIEWS_EXTENSION,
} from "./view_resource.ts";

export type ToolViews = ReadonlyMap<Tool["view"], CompiledView>;

/** Compiles the views of tools. Tools with the same view share one resource. */
export const toolViews: CatalogueFeature<ToolViews> = () => {
  const views = new Map<Tool["view"], CompiledView>();

  function viewOf(tool: Tool): CompiledView | undefined {
    const { view } = tool;
    if (view === undefined) return undefined;
    const compiled = views.get(view) ?? compileView(tool, view);
    views.set(view, compiled);
    return compiled;
  }

  return {
    addTool(tool, { outputSchema }) {
      const view = viewOf(tool);
      if (view && outputSchema?.type !== "object") {
        throw new Error("a tool with a view must have an object as its output");
      }
      return viewMetaOf(tool, view?.resource.uri);
    },
    get extensions() {
      return views.size > 0 ? { [VIEWS_EXTENSION]: {} } : undefined;
    },
    get resources() {
      return [...views.values()].map(({ resource }) => resource);
    },
    select({ tools }) {
      const part = new Map(
        [...views].filter(([view]) => tools.some((tool) => tool.view === view)),
      );
      const seen = [...part.values()];
      const byPrefix = new Map(
        seen.map(({ prefix, resource }) => [prefix, resource]),
      );
      return {
        part,
        listed: seen.map(({ resource }) => resource),
        // An old conversation may have the URI of an earlier version of a view.
        // It gets the present version.
        find: (uri) => byPrefix.get(viewPrefix(uri)),
      };
    },
  } satisfies CatalogueAddition<ToolViews>;
};
