/**
 * A tool's result as its view gets it, made of what the host sent.
 *
 * @module
 */
import type { Loose } from "./host_channel.ts";
import type { ViewResult } from "./view.ts";

/** Makes the result. Its source text is put into a page. */
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
      // It was text for people.
    }
  }
  return {
    ...(data !== undefined && { data }),
    text: texts.join("\n"),
    content,
    meta: _meta ?? {},
  };
}
