import { resource } from "../mod.ts";

/** A resource with one address. */
export default resource({
  uri: "docs://adding-a-tool",
  name: "adding_a_tool",
  title: "Adding a tool",
  description: "How to add a tool to this server.",
  mimeType: "text/markdown",
  cacheScope: "public",
  ttlSeconds: 3600,
  read: () =>
    `# Adding a tool

1. Make a file under \`src/tools/\` that exports \`tool({ ... })\` by default.
2. List it in \`src/tools/mod.ts\`.

Its arguments and its result are Zod schemas, and typed by them. The second
argument of \`run\` tells who is calling and reaches back to their client.
`,
});
