/**
 * The `README.md` of a new project.
 *
 * @module
 */
import type { Source } from "./source.ts";
import { titleOf } from "./tool_files.ts";

/** Writes the page of a project that has a copy of the package. */
export function readmeFile(name: string, { place }: Source): string {
  const origin = place === undefined ? UPDATE : `This project uses ${place}.
Once the package is published, \`deno add jsr:@tool-server/tool-server\` changes
to it; remove what else of \`deno.json\` is named here.
`;
  return `# ${titleOf(name)}

Tools that language-model clients call over MCP, served by
Tool Server. With Node only, write \`npx -y deno\` in place of \`deno\`.

\`\`\`sh
deno task dev            # http://127.0.0.1:3000/mcp, restarts on every change
deno task dev:oauth      # the same with sign-in, at a built-in provider
deno task list           # what it offers, while it runs
deno task call greet name=Ada
deno task tool NAME      # adds a tool and its test
deno task ci             # formatting, lint, types, tests, settings
\`\`\`

For another port, put \`PORT=3108\` into \`.env\`, which every command reads, and
change it in \`.mcp.json\` and \`.vscode/mcp.json\`. Editors that read these two
connect by themselves while it runs. Open <http://127.0.0.1:3000> for other clients. Claude and ChatGPT call
from the internet and cannot reach that address; for a try, a tunnel can:

\`\`\`sh
cloudflared tunnel --url http://127.0.0.1:3000 # prints https://….trycloudflare.com
BASE_URL=https://….trycloudflare.com deno task dev # their connectors take …/mcp
\`\`\`

Everyone who knows the address may then call: end it after the try, or set
\`AUTH_STRATEGY\`.

Your own data goes into files in \`data/\`, which git and the image leave out, or
into a database of yours. \`AGENTS.md\` shows how a tool, a resource, a prompt, a
view, a service, a route and their tests look.

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

\`KV_PATH\` names the database of sessions and sign-ins;
\`deno task backup data/tools.db COPY\` copies it, or another SQLite file, while
the server runs, and \`deno task restore COPY data/tools.db\` puts it back.
\`deno task move FROM TO\` moves it to denokv or Postgres, with the server stopped.

## Update

${origin}`;
}

const UPDATE =
  `Change the version in \`deno.json\` (\`deno outdated --update --latest\` does), read
the changes, and run \`deno task settings\` and \`deno task ci\`.
`;
