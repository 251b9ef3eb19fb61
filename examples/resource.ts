/**
 * A resource with one address, and a family of them behind a template:
 * `deno run -A resource.ts`.
 */
import { defineServer, resource, serve } from "@tool-server/tool-server";

const TEAS = new Map([["assam", "Strong and malty."], ["sencha", "Grassy."]]);

const list = resource({
  uri: "teas://all",
  name: "teas",
  description: "The names of all teas.",
  mimeType: "application/json",
  read: () => JSON.stringify([...TEAS.keys()]),
});

const tea = resource({
  uri: "teas://{name}",
  name: "tea",
  description: "The taste of a tea.",
  complete: {
    name: (value) => [...TEAS.keys()].filter((tea) => tea.startsWith(value)),
  },
  read: ({ name }) => TEAS.get(name),
});

export const server = defineServer({
  name: "teas",
  version: "1.0.0",
  resources: [list, tea],
});

if (import.meta.main) await serve(server);
