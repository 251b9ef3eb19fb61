/**
 * The development page's responses to the requests of a view.
 *
 * @module
 */
import type { Loose } from "./host_view.ts";
import type { DevClient } from "./dev_client.ts";
import type { MessageLog } from "./message_log.ts";
import type { Remembered } from "./page_memory.ts";
import type { Palette } from "./host_style.ts";

/** Makes the responses. The source text of this function runs in the page. */
export function hostAnswers(
  page: Loose,
  { tools, client, palette, make, setMode }: Pick<MessageLog, "make"> & {
    tools: readonly Loose[];
    client: DevClient;
    palette: Palette;
    setMode(mode: string): string;
  },
) {
  const { document } = page;

  function say(who: string, words: string): void {
    document.getElementById("said").append(make("li", words, who));
  }

  /** Handles a request of the view. @throws {Error} if the host refuses it */
  async function answer(method: string, params: Loose): Promise<unknown> {
    switch (method) {
      case "tools/call": {
        const called = tools.find(({ name }) => name === params.name);
        const { visibility } = called?._meta?.ui ?? {};
        if (visibility && !visibility.includes("app")) {
          throw new Error(`${params.name} is not for views: see visibility`);
        }
        return await client.request(method, params);
      }
      case "resources/read":
      case "resources/list":
      case "resources/templates/list":
      case "tools/list":
        return await client.request(method, params);
      case "ui/open-link":
        page.open(params.url, "_blank", "noopener");
        return {};
      case "ui/message":
        say("person", textOf(params));
        return {};
      case "ui/update-model-context":
        // Replaces the context that the model had before.
        document.querySelector("#said .known")?.remove();
        say("known", `The model knows: ${textOf(params)}`);
        return {};
      case "ui/request-display-mode":
        return { mode: setMode(params.mode) };
      case "ui/download-file": {
        const [{ resource }] = params.contents;
        const link = make("a");
        link.href = page.URL.createObjectURL(
          new Blob([resource.text ?? ""], { type: resource.mimeType }),
        );
        link.download = resource.uri.split("/").at(-1);
        link.click();
        return {};
      }
      default:
        throw Object.assign(new Error(`No method ${method}`), { code: -32601 });
    }
  }

  /** Returns the text of a message or a result. */
  function textOf({ content = [], structuredContent }: Loose): string {
    return content.map(({ text }: Loose) => text).join("\n") ||
      JSON.stringify(structuredContent);
  }

  /**
   * Returns the host's context for a tool's view, from the settings of the
   * page.
   */
  function contextOf(
    tool: Loose,
    { theme, width }: Pick<Remembered, "theme" | "width">,
  ): Record<string, unknown> {
    const { samples: _, html: __, ...definition } = tool;
    return {
      theme,
      toolInfo: { tool: definition },
      styles: { variables: palette[theme] },
      displayMode: "inline",
      availableDisplayModes: ["inline", "fullscreen"],
      containerDimensions: width === "full" ? {} : { maxWidth: Number(width) },
      locale: page.navigator.language,
      timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      platform: width === "390" ? "mobile" : "web",
      userAgent: "tool-server-views",
    };
  }

  return { answer, textOf, contextOf };
}
