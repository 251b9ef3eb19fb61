/**
 * The resource behind a URI, for a caller who may not see everything.
 *
 * @module
 */
import type { Resource } from "../../authoring/resource.ts";
import type { Catalogue } from "./catalogue.ts";
import { viewPrefix } from "../../features/views/view_resource.ts";

export function findResource(
  catalogue: Pick<Catalogue, "resources" | "templates" | "views" | "whole">,
  uri: unknown,
): { resource: Resource; variables: Record<string, string> } | undefined {
  if (typeof uri !== "string") return undefined;
  const { resources, templates, views } = catalogue.whole ?? catalogue;
  const resource = resources.get(uri);
  // A hidden resource must not be readable through a visible template.
  if (resource && !catalogue.resources.has(uri)) return undefined;
  if (resource) return { resource, variables: {} };
  // A conversation may hold the address of another version of a view.
  const prefix = viewPrefix(uri);
  const view = views.get(prefix);
  if (view && !catalogue.views.has(prefix)) return undefined;
  if (view) return { resource: view, variables: { uri } };
  for (const compiled of templates) {
    const variables = compiled.template.match(uri);
    if (!variables) continue;
    const { resource } = compiled;
    return catalogue.templates.includes(compiled)
      ? { resource, variables }
      : undefined;
  }
  return undefined;
}

/** True if a URI belongs to a resource that is hidden from the caller. */
export function isHidden(catalogue: Catalogue, uri: string): boolean {
  return catalogue.whole !== undefined &&
    findResource(catalogue.whole, uri) !== undefined &&
    findResource(catalogue, uri) === undefined;
}
