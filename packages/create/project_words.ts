/**
 * The pages of a new project: `README.md` for people, `AGENTS.md` for anyone who
 * works on it.
 *
 * @module
 */
import { PACKAGE, type PackageCopy } from "./source.ts";
import { titleOf } from "./definition_files.ts";

export function readmeFile(name: string, { place }: PackageCopy): string {
  const origin = place === undefined ? UPDATE : `This project uses ${place}

Run \`deno task ts settings\` and \`deno task ci\` afterwards. Once the package
is published, \`deno add jsr:${PACKAGE}\` changes to it.
`;
  return `# ${titleOf(name)}

Tools that language-model clients call over MCP, served by Tool Server. With
Node only, write \`npx -y deno\` in place of \`deno\`.

\`\`\`sh
deno task dev            # http://127.0.0.1:3000/mcp, restarts on every change
deno task dev:oauth      # the same with sign-in, at a built-in provider
deno task ts list        # what it offers, while it runs
deno task ts call greet name=Ada
deno task ts tool NAME   # adds a tool and its test; also resource, prompt
deno task ci             # formatting, lint, types, tests, settings
\`\`\`

\`deno task ts --help\` lists what else there is; \`deno task -q ts …\` prints the
answer alone. For another port, put \`PORT=3108\` into \`.env\`, which every
command reads, and change it in \`.mcp.json\`. Open <http://127.0.0.1:3000> to
connect a client.

## Settings

A tool declares its own settings, as \`tools/greet.ts\` does with \`GREETING\`.
\`deno task ts settings\` writes them into \`.env.example\` and lets \`deno.json\`
read them; put values into \`.env\`, which git ignores. Mark keys with
\`secret()\`, so that they never appear in a complaint. Your own data goes into
files in \`data/\`, which git ignores too, or into a database of yours.

\`KV_PATH\` says where the server keeps sign-ins and sessions, for example in
\`data/tools.db\`. By default Deno keeps them by the path of this folder, outside
of it: they stay when the folder is removed, and a new project in the same place
finds them.

## Run it

\`deno task start\`, with \`BASE_URL\`, the public address, and \`AUTH_STRATEGY\`,
who may call. \`deno task ts doctor URL\` examines the server as its clients meet
it. \`deno task ts add workflow\` adds a check of each push, and
\`deno task ts add docker\` an image:

\`\`\`sh
docker build -t ${name} .
docker run -p 3000:3000 -v ${name}:/app/data --env-file .env ${name}
\`\`\`

\`deno task ts backup data/tools.db COPY\` copies the database of sessions and
sign-ins, which \`KV_PATH\` names, while the server runs.

## Update

${origin}`;
}

const UPDATE =
  `Change the version in \`deno.json\` (\`deno outdated --update --latest\` does),
and run \`deno task ts settings\` and \`deno task ci\`.
`;

export function agentsFile(name: string, { module }: PackageCopy): string {
  return `# Working in ${name}

An MCP server made with \`${PACKAGE}\`. \`deno task ci\` must pass before
anything is committed.

| Command                             |                                           |
| ----------------------------------- | ----------------------------------------- |
| \`deno task dev\`, \`deno task start\`  | serves; \`dev\` restarts and shows views    |
| \`deno task ts tool NAME\`            | also \`resource\`, \`prompt\`: file and test  |
| \`deno task ts list\`, \`ts call NAME\` | what it offers; calls a tool: \`key=value\` |
| \`deno task ts settings\`, \`skills\`   | after a change of \`settings\`, in skills/  |
| \`deno task ts guide\`                | a service, view, route, … and their test  |

\`deno doc --filter tool ${module}\` explains a name. One file a
thing, its test next to it, its line in the folder's \`mod.ts\`.

- Throw \`ToolError\` for what the model should read. Of any other exception it
  sees an error ID only.
- Ask before you act: after \`context.ask\`, \`run\` may start again from its
  beginning. \`progress\`, \`signal\`, \`caller\` and \`upstream\` are in the context.
- A client may answer \`ask\` by itself. What cannot be undone gets \`approval\`, as
  \`ts guide\` shows: it runs only after a person has pressed a button on a page of
  this server (\`AUTH_STRATEGY=oauth\`).
- A call of more than 45 seconds becomes a task by itself. Work that must survive
  a restart: \`task: { durable: true }\`, with \`step\` and \`sleep\` of the context.
- What not every sign-in may do: \`scopes\`.
- To act at another service as the caller: \`needs: { github: account("github") }\`
  (OAuth) or \`personalKey(…)\` (a key that people paste), then
  \`needs.github.fetch(path)\`. \`SECRETS_KEYS\` seals what they connect.
- Nothing in memory outlives a process or is seen by another. Data goes into a
  file in \`data/\` or a database of yours, opened by a service, and a setting
  says where, so that tests use \`:memory:\`, or a \`testFile()\` where a task
  crashes. Never into the server's own database.
- Settings are declared in \`settings\` and reached through the context, never
  through \`Deno.env\`; secrets are marked with \`secret()\`, and are never in code,
  logs or errors.
- Routes are public; \`await authenticate(request)\` of their context refuses
  strangers.
`;
}
