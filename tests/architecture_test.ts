/**
 * The shape of the source, read from its imports.
 *
 * @module
 */
import assert from "node:assert/strict";

const ROOT = new URL("../", import.meta.url);

/** One import, also of types. */
interface Import {
  from: string;
  /** A path from the root for our own files, else the bare specifier. */
  to: string;
  isType: boolean;
  /** True for a dynamic import. */
  isLate: boolean;
}

async function* listSources(folder: string): AsyncGenerator<string> {
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))
  ) {
    if (isDirectory && name !== "tests") {
      yield* listSources(`${folder}${name}/`);
    }
    if (/(?<!_test)\.tsx?$/.test(name)) yield `${folder}${name}`;
  }
}

function readText(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}

const IMPORT =
  /^(?:import|export)\s+(type\s)?([^"';]*?)\s*from\s+"([^"]+)"|^import\s+"([^"]+)"|(?<!\{)\bimport\(\s*"([^"]+)"/gm;

/** Removes comments: examples in them import things too. */
function withoutComments(text: string): string {
  return text.replaceAll(/^\s*\/\*\*[\s\S]*?\*\//gm, "");
}

async function readImports(path: string): Promise<Import[]> {
  let text = withoutComments(await readText(path));
  // Templates of files for a project are not code of ours.
  if (/^packages\/(create|import)\//.test(path)) {
    text = text.replaceAll(/`(?:\\.|[^`\\])*`/g, "");
  }
  return [...text.matchAll(IMPORT)].map(
    ([, type, names, specifier, bare, late]) => {
      const to = specifier ?? bare ?? late;
      const isRelative = to.startsWith(".");
      return {
        from: path,
        to: isRelative
          ? new URL(to, new URL(path, ROOT)).href.slice(ROOT.href.length)
          : to,
        isType: type !== undefined || isTypesOnly(names ?? ""),
        isLate: late !== undefined,
      };
    },
  );
}

/** True for `{ type A, type B }`, where every name is a type. */
function isTypesOnly(names: string): boolean {
  const inner = /^\{([^}]*)\}$/.exec(names.trim())?.[1];
  return inner !== undefined &&
    inner.split(",").map((name) => name.trim()).filter(Boolean)
      .every((name) => name.startsWith("type "));
}

const files = [
  ...await Array.fromAsync(listSources("src/")),
  ...await Array.fromAsync(listSources("packages/")),
  ...["health.ts", "server.ts", "main.ts"],
];
const imports = (await Promise.all(files.map(readImports))).flat();

/** The socket, the process, and the command line tools. */
const MAY_TOUCH_DENO =
  /^main\.ts$|^src\/(serve\.ts$|core\/process\/|core\/(log\/standard_output|net\/send_once)\.ts$)|^packages\/(testing\/(served|test_file)\.ts$|create\/|call\/|cli\/|operate\/(mod|move|backup|restore|database)\.ts$|doctor\/mod\.ts$|import\/(mcp|mod|open_source|project|document|test_code)\.ts$)/;

/** The files that people with a clone write themselves. */
const AUTHORED = /^src\/(tools|resources|prompts|services)\/|^health\.ts$/;

/**
 * The layers, from the ones that everything may use to the ones that nothing
 * may. Folders of one layer may use each other; `src/` alone means the files
 * directly in it.
 */
const LAYERS: readonly (readonly string[])[] = [
  [
    "packages/client/",
    "src/core/",
    "src/core/crypto/",
    "src/core/net/",
    "src/core/log/",
    "src/core/telemetry/",
  ],
  ["src/authoring/"],
  ["src/core/protocol/", "src/core/oauth/"],
  ["src/core/settings/"],
  ["src/core/catalogue/"],
  ["src/core/kv/"],
  ["src/core/store/", "src/core/provider/", "src/core/http/"],
  ["src/core/auth/doors/", "src/core/pages/", "src/core/provider/dev/"],
  ["packages/doctor/", "packages/call/", "packages/postgres/"],
  [
    "src/core/mcp/exchange/",
    "src/core/auth/clients/",
    "src/core/auth/grants/",
  ],
  ["src/core/server/lifecycle.ts"],
  ["src/core/auth/"],
  ["src/core/mcp/methods/", "src/core/auth/server/"],
  ["src/core/mcp/generations/"],
  ["src/core/mcp/"],
  ["src/core/server/server_options.ts"],
  ["src/core/server/feature.ts"],
  ["src/core/server/start_faults.ts"],
  ["src/core/server/plan.ts"],
  ["src/core/server/server_core.ts"],
  [
    "src/core/server/start_reports.ts",
    "src/core/server/error_answer.ts",
    "src/core/server/app.ts",
    "src/core/server/app.ts",
    "src/core/server/sign_in.ts",
  ],
  ["src/core/server/app.ts", "src/core/server/call_gate.ts"],
  ["src/core/server/server_instance.ts"],
  ["src/core/server/server_instance.ts"],
  ["src/core/server/server_instance.ts"],
  ["src/core/process/"],
  // Each folder is a feature. Another test holds that they make no circle.
  ["src/features/"],
  ["packages/dev/"],
  ["src/features.ts"],
  ["src/server.ts"],
  ["src/serve.ts"],
  [
    "src/mod.ts",
    "src/view.ts",
    "src/skill.ts",
    "src/api.ts",
    "packages/create/",
    "packages/import/",
    "packages/operate/",
    "packages/testing/",
  ],
  ["packages/cli/"],
  ["src/services/"],
  ["src/tools/", "src/resources/", "src/prompts/"],
  ["health.ts"],
  ["server.ts"],
  ["main.ts"],
];

function layerOf(path: string): number {
  let layer = -1;
  let longest = "";
  for (const [index, line] of LAYERS.entries()) {
    for (const place of line) {
      const isIn = place.endsWith("/")
        ? place === "src/"
          ? path.replace(/[^/]*$/, "") === place
          : path.startsWith(place)
        : path === place;
      if (isIn && place.length > longest.length) {
        [layer, longest] = [index, place];
      }
    }
  }
  assert(layer >= 0, `${path} is in no layer`);
  return layer;
}

/** The folder of a file, with a slash. */
function folderOf(path: string): string {
  return path.replace(/[^/]*$/, "");
}

/** Prints one arrow for a failure. */
function print({ from, to }: Import): string {
  return `${from} -> ${to}`;
}

/** The imports of what is loaded at run time. */
const arrows = imports.filter(({ isType }) => !isType);
/** The package's own arrows: tools of a clone may need any package. */
const packageArrows = arrows.filter(({ from }) =>
  !AUTHORED.test(from) && !from.startsWith("packages/postgres/")
);
/** Types too: what a file must know of another is an arrow all the same. */
const allArrows = imports.filter(({ to }) =>
  /^(src|packages)\/|^[a-z]+\.ts$/.test(to)
);

Deno.test("imports go one way", () => {
  const up = allArrows.filter(({ from, to }) => layerOf(to) > layerOf(from));
  assert.deepEqual(up.map(print), []);
});

/** Finds the names along a circle of arrows; undefined if there is none. */
function findCircle(
  arrows: readonly Pick<Import, "from" | "to">[],
): string[] | undefined {
  const targets = Map.groupBy(arrows, ({ from }) => from);
  const isDone = new Set<string>();
  const visit = (name: string, trail: string[]): string[] | undefined => {
    if (trail.includes(name)) return trail.slice(trail.indexOf(name));
    if (isDone.has(name)) return undefined;
    for (const { to } of targets.get(name) ?? []) {
      const circle = visit(to, [...trail, name]);
      if (circle) return circle;
    }
    isDone.add(name);
  };
  for (const name of targets.keys()) {
    const circle = visit(name, []);
    if (circle) return circle;
  }
}

Deno.test("imports make no circle", () => {
  assert.deepEqual(findCircle(allArrows), undefined);
});

/** The folder of a file, as the design has it; an entry point is its own. */
function homeOf(path: string): string {
  const home = /^(src\/core\/(mcp|auth)|src\/(core|features)|packages)\/[^/]+\//
    .exec(path)?.[0];
  return home ?? (layerOf(path) === 0 ? folderOf(path) : path);
}

/** The folder of the core or of a feature that a file is in, if any. */
function topFolderOf(path: string): string | undefined {
  return /^src\/(?:core|features)\/[^/]+\/|^src\/authoring\//.exec(path)?.[0];
}

Deno.test("the folders of the core and of the features make no circle", () => {
  const between = allArrows
    .map(({ from, to }) => ({ from: topFolderOf(from), to: topFolderOf(to) }))
    .filter((arrow): arrow is { from: string; to: string } =>
      arrow.from !== undefined && arrow.to !== undefined &&
      arrow.from !== arrow.to
    );
  assert.deepEqual(findCircle(between), undefined);
});

Deno.test("folders make no circle", () => {
  const between = allArrows
    .map((arrow) => ({
      ...arrow,
      from: homeOf(arrow.from),
      to: homeOf(arrow.to),
    }))
    .filter(({ from, to }) => from !== to);
  const circle = findCircle(between) ?? [];
  const along = allArrows.filter(({ from, to }) =>
    circle.some((home, index) =>
      homeOf(from) === home &&
      homeOf(to) === circle[(index + 1) % circle.length]
    )
  );
  assert.deepEqual(along.map(print), []);
});

const MAX_LINES = 500;

Deno.test("no file is longer than 500 lines", async () => {
  const long: string[] = [];
  for (const path of files) {
    const lines = (await readText(path)).split("\n").length - 1;
    if (lines > MAX_LINES) long.push(`${path}: ${lines}`);
  }
  assert.deepEqual(long, []);
});

Deno.test("what runs depends on nine packages", () => {
  const packages = new Set(
    packageArrows.map(({ to }) => to)
      .filter((to) => !/^(src|packages)\/|^node:|^[a-z]+\.ts$/.test(to))
      // Of the doctor alone.
      .filter((to) => !to.startsWith("npm:redos-detector@"))
      // Of the import of Swagger 2.0 alone.
      .filter((to) => !to.startsWith("npm:@scalar/openapi-upgrader@"))
      .map((to) => /^(@[^/]+\/)?[^/]+/.exec(to)![0]),
  );
  assert.deepEqual([...packages].sort(), [
    "@hono/hono",
    "@noble/hashes",
    "@opentelemetry/api",
    "@simplewebauthn/server",
    "jose",
    "js-yaml",
    "oauth4webapi",
    "tldts",
    "zod",
  ]);
});

Deno.test("packages/postgres depends on pg alone, and no start loads it", () => {
  const own = arrows.filter(({ from }) =>
    from.startsWith("packages/postgres/")
  );
  const outside = own.map(({ to }) => to)
    .filter((to) => !/^(src\/core\/kv|packages\/postgres)\/|^node:/.test(to));
  assert.deepEqual(outside.map((to) => to.replace(/@[^@]*$/, "")), ["npm:pg"]);
  const loading = arrows.filter(({ from, to }) =>
    to.startsWith("packages/postgres/") &&
    !from.startsWith("packages/postgres/")
  );
  assert.deepEqual(loading.map(print), []);
});

Deno.test("only the command loads the import, and no start what it writes with", () => {
  const outside = arrows.filter(({ from, to }) =>
    to.startsWith("packages/import/") && !from.startsWith("packages/import/")
  );
  assert.deepEqual(outside.map(print), [
    "packages/cli/mod.ts -> packages/import/mod.ts",
  ]);
  assert.equal(loadedWith("main.ts").has("src/api.ts"), false);
});

Deno.test("the samples need the front door only", () => {
  const others = imports.filter(({ from, to }) =>
    AUTHORED.test(from) && to.startsWith("src/") && !AUTHORED.test(to) &&
    to !== "src/mod.ts" && to !== "src/api.ts"
  );
  assert.deepEqual(others.map(print), []);
});

Deno.test("Zod is one namespace, so that a bundle leaves its languages out", async () => {
  const others: string[] = [];
  for (const path of files) {
    for (
      const [line] of withoutComments(await readText(path)).matchAll(
        /^.*"zod";$/gm,
      )
    ) {
      if (!/^(import (type )?|export )\* as z from |^} from /.test(line)) {
        others.push(`${path}: ${line}`);
      }
    }
  }
  assert.deepEqual(others, []);
});

/** Finds all that is loaded with some files: what they import, and so on. */
function loadedWith(...paths: string[]): Set<string> {
  const seen = new Set(paths);
  for (const path of seen) {
    for (const { from, to, isLate } of arrows) {
      if (from === path && !isLate) seen.add(to);
    }
  }
  return seen;
}

/** The folders of the server that are loaded before it listens. */
const STARTED = [
  "authoring",
  "core",
  "core/auth/doors",
  "core/catalogue",
  "core/crypto",
  "core/http",
  "core/kv",
  "core/log",
  "core/mcp",
  "core/mcp/exchange",
  "core/mcp/generations",
  "core/mcp/methods",
  "core/net",
  "core/oauth",
  "core/process",
  "core/protocol",
  "core/provider",
  "core/server",
  "core/settings",
  "core/store",
  "core/telemetry",
];

/** The most of these modules: ten more make a start from sources 1% slower. */
const MAX_STARTED_MODULES = 230;

/** The most characters of their code: comments are not counted. */
const MAX_STARTED_CHARACTERS = 834_000;

/** The comments of a source that have lines of their own. */
const COMMENTS = /^[ \t]*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)\n/gm;

Deno.test("a start without sign-in loads these folders, and no more code than it may", async () => {
  const loaded = [...loadedWith("main.ts")].filter((path) =>
    path.startsWith("src/") && !AUTHORED.test(path)
  );
  const folders = loaded.map((path) => path.replace(/^src\/|\/?[^/]*$/g, ""))
    .filter((folder) => !folder.startsWith("features/"));
  assert.deepEqual([...new Set(folders)].filter(Boolean).sort(), STARTED);
  assert.ok(
    loaded.length <= MAX_STARTED_MODULES,
    `${loaded.length} are loaded`,
  );
  const sizes = await Promise.all(loaded.map(async (path) => {
    const source = await Deno.readTextFile(new URL(path, ROOT));
    return source.replaceAll(COMMENTS, "").length;
  }));
  const characters = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(characters < MAX_STARTED_CHARACTERS, `${characters} are loaded`);
});

Deno.test("backup.ts and restore.ts run without the configuration and the packages of a clone", () => {
  const loaded = [...loadedWith("packages/operate/restore.ts")];
  assert(loaded.includes("packages/operate/backup.ts"));
  const foreign = loaded.filter((it) => !/^(node:|packages\/)/.test(it));
  assert.deepEqual(foreign, []);
});

Deno.test("what a call needs loads nothing of Node, nor what comes later", () => {
  const seen = loadedWith("main.ts", "src/core/server/call_gate.ts");
  const heavy =
    /^node:|^jose$|^oauth4webapi$|^@hono|^@opentelemetry|^(js-yaml|tldts)$|^src\/core\/server\/app\.ts$|^src\/(core|features)\/.*x$/;
  assert.deepEqual([...seen].filter((path) => heavy.test(path)), []);
  // Pages and other strategies load app.ts too.
  const early = arrows.filter(({ to, isLate }) =>
    to === "oauth4webapi" && !isLate
  );
  assert.deepEqual(early.map(print), []);
});

Deno.test("what checks passkeys is loaded once someone makes or uses one", () => {
  const check = "src/features/approvals/passkey_check.ts";
  const users = imports.filter(({ to }) => to === "@simplewebauthn/server");
  assert.deepEqual([...new Set(users.map(({ from }) => from))], [check]);
  const early = imports.filter(({ to, isLate, isType }) =>
    to === check && !isLate && !isType
  );
  assert.deepEqual(early.map(print), []);
});

/** The stores of features. */
const FEATURE_STORES: ReadonlySet<string> = new Set([
  "src/features/account_page/account_sessions.ts",
  "src/features/accounts/begun_account.ts",
  "src/features/accounts/account_vault.ts",
  "src/features/accounts/accounts.ts",
  "src/features/approvals/approval_queue.ts",
  "src/features/approvals/approval_store.ts",
  "src/features/approvals/approval_task.ts",
  "src/features/approvals/passkey_store.ts",
  "src/features/approvals/receipts.ts",
  "src/features/approvals/remembered.ts",
  "src/features/accounts/revocation_queue.ts",
  "src/features/accounts/revocation_record.ts",
  "src/features/ledger/ledger.ts",
  "src/features/mcp_servers/registrations.ts",
  "src/features/questions/wait_answer.ts",
  "src/features/questions/wait_receipt.ts",
  "src/features/questions/wait_record.ts",
  "src/features/questions/waits.ts",
  "src/features/work/call_repeats.ts",
  "src/features/work/run_record.ts",
  "src/features/work/steps.ts",
  "src/features/work/task_list.ts",
  "src/features/work/task_record.ts",
  "src/features/work/task_runs.ts",
  "src/features/work/tasks.ts",
]);

Deno.test("only stores know keys", () => {
  const others = imports.filter(({ from, to }) =>
    to === "src/core/kv/keys.ts" && !/^src\/core\/(kv|store)\//.test(from) &&
    !FEATURE_STORES.has(from)
  );
  assert.deepEqual(others.map(print), []);
});

Deno.test("only what listens and the command line tools touch Deno", async () => {
  const touching: string[] = [];
  for (const path of files) {
    if (MAY_TOUCH_DENO.test(path) || AUTHORED.test(path)) continue;
    const code = (await readText(path)).replaceAll(
      /\/\*[\s\S]*?\*\/|\/\/.*|\bDeno\.(Kv|Atomic)\w*/g,
      "",
    );
    if (/\bDeno\./.test(code)) touching.push(path);
  }
  assert.deepEqual(touching, []);
});

/** The files that compute with the time of day, for times that are stored. */
const TIME_OF_DAY = [
  "health.ts",
  "packages/call/credentials.ts",
  "packages/client/sign_in.ts",
  "packages/testing/test_cluster.ts",
  "src/core/auth/clients/fetch_document.ts",
  "src/core/clock.ts",
  "src/core/kv/database.ts",
  "src/core/kv/memory_kv.ts",
  "src/core/kv/operations.ts",
  "src/core/log/log.ts",
  "src/core/log/standard_output.ts",
  "src/core/mcp/exchange/report.ts",
  "src/core/process/file_collection.ts",
  "src/core/provider/token_answer.ts",
  "src/core/store/cancellations.ts",
];

Deno.test("durations are measured by performance.now(), which no one can set", async () => {
  const computing: string[] = [];
  for (const path of files) {
    const code = withoutComments(await readText(path));
    const isComputing =
      /Date\.now|clock\(\)\s*[-+<>]|[-+<>]=?\s*[\w.]*clock\(\)/.test(code);
    if (isComputing) computing.push(path);
  }
  assert.deepEqual(computing.toSorted(), TIME_OF_DAY);
});

for (const folder of ["src/tools/", "src/resources/", "src/prompts/"]) {
  Deno.test(`${folder}mod.ts lists every file next to it`, () => {
    const listed = imports.filter(({ from }) => from === `${folder}mod.ts`)
      .map(({ to }) => to);
    const forgotten = files.filter((path) =>
      path.startsWith(folder) && path !== `${folder}mod.ts` &&
      !listed.includes(path)
    );
    assert.deepEqual(forgotten, [], `list them in ${folder}mod.ts`);
  });
}

/** The page for engineers, and its tables by their headings. */
const page = await readText("contributing/architecture.md");
const sections = new Map(
  page.split(/^## /m).map((text) => [text.split("\n")[0], text] as const),
);

/** The names in the first cells of a table. */
function firstCells(heading: string): string[] {
  const rows = sections.get(heading)!.matchAll(/^\| (`[^|]+?) +\|/gm);
  return [...rows].flatMap(([, cell]) => cell.replaceAll("`", "").split(", "));
}

Deno.test("contributing/architecture.md has a row for every folder, from the ground up", () => {
  const folders = firstCells("Folders");
  const there = new Set(files.map(folderOf).filter((folder) => folder));
  assert.deepEqual(folders.filter((folder) => !there.has(folder)), []);
  // The `feature.ts` of a feature says what it is.
  const untold = [...there].filter((folder) => !folders.includes(folder));
  assert.deepEqual(untold.filter((it) => !it.startsWith("src/features/")), []);
  // Of the entry points each has a layer of its own.
  const layers = folders.slice(1).map((folder) =>
    Math.max(...files.filter((path) => folderOf(path) === folder).map(layerOf))
  );
  assert.deepEqual(layers, layers.toSorted((a, b) => a - b));
});

Deno.test("contributing/architecture.md has a row for every key", async () => {
  const text = withoutComments(await readText("src/core/kv/keys.ts"));
  const spelled = [...text.matchAll(/[[(](?:"([a-z-]+)"|`person-\$\{by\}`)/g)]
    .flatMap(([, word]) => word ?? ["person-name", "person-word"]);
  assert.deepEqual(firstCells("Keys").toSorted(), [...new Set(spelled)].sort());
});

Deno.test("contributing/glossary.md has no dead word", async () => {
  const code = (await Promise.all(files.map(readText))).join("\n")
    .toLowerCase();
  const glossary = await readText("contributing/glossary.md");
  const words = [...glossary.matchAll(/^- \*\*(.+?)\*\*:/gm)]
    .map(([, word]) => word);
  assert.ok(words.length > 0);
  const dead = words.filter((word) => !code.includes(word));
  assert.deepEqual(dead, []);
});

async function* listPaths(folder: string): AsyncGenerator<string> {
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))
  ) {
    if (isDirectory) yield* listPaths(`${folder}${name}/`);
    else yield `${folder}${name}`;
  }
}

Deno.test("the pages for engineers name files that are there", async () => {
  const paths = [...files];
  for (
    const folder of ["src/", "packages/", "tests/", "docs/", "contributing/"]
  ) {
    paths.push(...await Array.fromAsync(listPaths(folder)));
  }
  const pages = [
    "AGENTS.md",
    "contributing/architecture.md",
    "contributing/extending.md",
    "contributing/glossary.md",
    ...paths.filter((path) => path.startsWith("contributing/decisions/")),
  ];
  const gone: string[] = [];
  for (const page of pages) {
    const prose = (await readText(page)).replaceAll(/^```[\s\S]*?^```$/gm, "");
    for (const [, named] of prose.matchAll(/`([\w/.-]+\.tsx?)`/g)) {
      const isThere = paths.some((path) => `/${path}`.endsWith(`/${named}`));
      if (!isThere) gone.push(`${page}: ${named}`);
    }
  }
  assert.deepEqual(gone, []);
});

Deno.test("the tests run what the server runs", async () => {
  const read = async (path: string) => JSON.parse(await readText(path));
  const [own, tests] = [await read("deno.json"), await read("tests/deno.json")];
  assert.deepEqual(tests.unstable, own.unstable);
  assert.deepEqual(
    { ...tests.imports, ...own.imports },
    tests.imports,
    "run deno task ts settings",
  );
  const locks = [await read("deno.lock"), await read("tests/deno.lock")]
    .map(({ specifiers }) => specifiers);
  assert.deepEqual({ ...locks[1], ...locks[0] }, locks[1]);
});
