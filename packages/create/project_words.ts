/**
 * The `README.md` and `AGENTS.md` of a new project.
 *
 * @module
 */
import { titleOf } from "./names.ts";

/** Makes the `README.md`. */
export function readmeFile(name: string): string {
  return `# ${titleOf(name)}

Tools that language-model clients call over MCP, served by
[Tool Server](https://jsr.io/@tool-server/tool-server).

\`\`\`sh
deno task dev            # http://127.0.0.1:3000/mcp, restarts on every change
deno task dev:oauth      # the same with sign-in, at a built-in provider
deno task tool NAME      # adds a tool and its test
deno task ci             # formatting, lint, types, tests, settings
\`\`\`

Editors that read \`.mcp.json\` or \`.vscode/mcp.json\` connect by themselves while
it runs. Open <http://127.0.0.1:3000> for other clients.

## Settings

A tool declares its own settings, as \`tools/greet.ts\` does with \`GREETING\`.
\`deno task settings\` writes them into \`.env.example\` and lets \`deno.json\` read
them; put values into \`.env\`, which git ignores. Mark keys with \`secret()\`, so
that they never appear in a complaint.

## Call it

With the server running, \`deno task list\` shows its tools and
\`deno task call greet name=Ada\` calls one; \`deno task call --help\` says more.

## Run it

\`deno task start\`, or the \`Dockerfile\`:

\`\`\`sh
docker build -t ${name} .
docker run -p 3000:3000 -v ${name}:/app/data --env-file .env ${name}
\`\`\`

Set \`BASE_URL\` to the public address and \`AUTH_STRATEGY\` to who may call;
\`deno task doctor URL\` examines the server as its clients meet it.

## Update

Change the version in \`deno.json\` (\`deno outdated --update --latest\` does), read
the changes, and run \`deno task settings\` and \`deno task ci\`.
`;
}

/** Makes the \`AGENTS.md\`. */
export function agentsFile(name: string): string {
  return `# Working in ${name}

An MCP server made with \`@tool-server/tool-server\`. \`deno task ci\` must pass
before anything is committed.

- \`server.ts\` says what the server is; \`main.ts\` runs it.
- One file a tool in \`tools/\`, its test next to it, its name in \`tools/mod.ts\`:
  \`deno task tool NAME\` makes all three.
- Import \`tool\`, \`z\`, \`ToolError\` and the rest from
  \`@tool-server/tool-server\`, and \`testServer\` from its \`/testing\`.
- Throw \`ToolError\` for what the model should read. Of any other exception it
  sees an error ID only.
- Ask before you act: after a question, \`run\` may start again from its
  beginning.
- Settings are declared in \`settings\` and reached through the context, never
  through \`Deno.env\`. Run \`deno task settings\` after a change to them.
- A skill is a folder \`skills/NAME\` with a \`SKILL.md\`: \`deno task skills\`
  lists what is there in \`skills/mod.ts\`.
- Secrets go into \`.env\` and never into code, logs or errors.
`;
}
