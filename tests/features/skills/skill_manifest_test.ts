import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { resource } from "../../../src/authoring/resource.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";
import { CatalogueError } from "../../../src/core/catalogue/compiled_definitions.ts";
import { catalogueSkills } from "../../../src/features/skills/skills.ts";
import {
  compileSkill,
  skillsPerPage,
} from "../../../src/features/skills/skill_manifest.ts";
import { skill, type SkillDefinition } from "../../../src/skill.ts";
import {
  eachRevision,
  RefusedError,
  testServer,
} from "../../../packages/testing/mod.ts";
import { resultOf } from "../../kit/answer.ts";
import { startServer } from "../../kit/server.ts";

const EXTENSION = "io.modelcontextprotocol/skills";
const MANUAL = `---
name: refunds
description: Decides about refunds.
license: MIT
---

Apply [the terms](references/terms.md#fees) and pick one of
[the letters](./letters/). Ask [the bank](https://bank.example), or see
\`[this](nowhere.md)\`.

\`\`\`md
[that](nowhere.md)
\`\`\`
`;
const SEAL = Uint8Array.of(0x89, 0x50, 0x00, 0xff);
const FILES = {
  "letters/eu/yes.md": "Größe: ≤ 100 €",
  "SKILL.md": MANUAL,
  "references/terms.md": "30 days",
  "letters/seal.png": SEAL,
  "LICENSE": "MIT",
};
const refunds = skill({ files: FILES });

function digestOf(content: string | Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

Deno.test("a skill is listed with digests of what is read, in both generations", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ skills: [refunds], revision });
    const [listed, ...others] = await server.skills();
    assert.deepEqual(others, []);
    assert.equal(listed.uri, "skill://refunds/SKILL.md");
    assert.deepEqual(listed.frontmatter, {
      name: "refunds",
      description: "Decides about refunds.",
      license: "MIT",
    });
    assert.equal(listed.resources[0].uri, listed.uri);
    const files = new Map<string, unknown>();
    for (const { uri, digest, size } of listed.resources) {
      const { contents: [{ text, blob, mimeType }] } = await server.read(uri);
      const content = text ?? Uint8Array.fromBase64(blob!);
      assert.equal(digest, digestOf(content));
      assert.equal(
        size,
        typeof content === "string"
          ? Buffer.byteLength(content)
          : content.length,
      );
      files.set(uri.replace("skill://refunds/", ""), [content, mimeType]);
    }
    assert.deepEqual(Object.fromEntries(files), {
      "SKILL.md": [MANUAL, "text/markdown"],
      "letters/eu/yes.md": [FILES["letters/eu/yes.md"], "text/markdown"],
      "references/terms.md": ["30 days", "text/markdown"],
      "letters/seal.png": [SEAL, "image/png"],
      "LICENSE": ["MIT", "text/plain"],
    });
  }));

Deno.test("among the resources of a list a skill has its SKILL.md alone", async () => {
  await using server = await testServer({ skills: [refunds] });
  const { resources } = await server.list();
  assert.deepEqual(resources, [{
    uri: "skill://refunds/SKILL.md",
    name: "refunds",
    description: "Decides about refunds.",
    mimeType: "text/markdown",
    size: Buffer.byteLength(MANUAL),
  }]);
});

Deno.test("skills/get gives the entry of the list, and refuses any other address", async () => {
  await using server = await startServer({ skills: [refunds] });
  const { skills: [entry] } = await resultOf(server.call("skills/list"));
  const uri = "skill://refunds/SKILL.md";
  const { skill, ttlMs, cacheScope, nextCursor } = await resultOf(
    server.call("skills/get", { uri }),
  );
  assert.deepEqual(skill, entry);
  assert.deepEqual([ttlMs, cacheScope, nextCursor], [
    300_000,
    "public",
    undefined,
  ]);
  for (const uri of ["skill://refunds", "skill://refunds/LICENSE", 1, null]) {
    const response = await server.call("skills/get", { uri });
    const { error } = await response.json();
    assert.equal(error.code, -32602);
    assert.match(error.message, /^No skill is served at /);
  }
});

Deno.test("resources/directory/read lists a directory's own files and directories", async () => {
  await using server = await startServer({ skills: [refunds] });
  const childrenOf = async (uri: string) => {
    const { resources } = await resultOf(
      server.call("resources/directory/read", { uri }),
    );
    return resources.map(({ uri, name, mimeType }: Record<string, string>) =>
      `${uri.replace("skill://refunds/", "")} ${name} ${mimeType}`
    );
  };
  assert.deepEqual(await childrenOf("skill://refunds"), [
    "SKILL.md refunds text/markdown",
    "letters letters inode/directory",
    "references references inode/directory",
    "LICENSE LICENSE undefined",
  ]);
  assert.deepEqual(await childrenOf("skill://refunds/letters"), [
    "letters/eu eu inode/directory",
    "letters/seal.png seal.png image/png",
  ]);
  assert.deepEqual(await childrenOf("skill://refunds/letters/eu"), [
    "letters/eu/yes.md yes.md text/markdown",
  ]);
  const refused = [
    { uri: "skill://refunds/SKILL.md" },
    { uri: "skill://refunds/" },
    { uri: "skill://other" },
    {},
    { uri: "skill://refunds", cursor: "more" },
  ];
  for (const params of refused) {
    const response = await server.call("resources/directory/read", params);
    assert.equal((await response.json()).error.code, -32602);
  }
});

Deno.test("the extension is declared where there are skills, besides others", async () => {
  const work = tool({ name: "work", task: "optional", run: () => "" });
  await using server = await startServer({ skills: [refunds], tools: [work] });
  const { capabilities } = await resultOf(server.call("server/discover"));
  assert.deepEqual(capabilities.extensions, {
    [EXTENSION]: { directoryRead: true },
    "io.modelcontextprotocol/tasks": {},
  });
  assert.deepEqual(capabilities.resources, {
    subscribe: true,
    listChanged: true,
  });
  const serverInfo = { name: "s", version: "1" };
  const { session } = compileCatalogue({ skills: [refunds] }, {
    serverInfo,
    features: [catalogueSkills],
  });
  assert.deepEqual(session.capabilities, {
    resources: {},
    logging: {},
    extensions: { [EXTENSION]: { directoryRead: true } },
  });
});

Deno.test("a server without skills has neither the extension nor its methods", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ skills: [], revision });
    await assert.rejects(server.skills(), (error) => {
      assert(error instanceof RefusedError);
      assert.equal(error.code, -32601);
      return true;
    });
    const serverInfo = { name: "s", version: "1" };
    const catalogue = compileCatalogue({ skills: [] }, {
      serverInfo,
      features: [catalogueSkills],
    });
    assert.equal(catalogue.session.capabilities.extensions, undefined);
  }));

Deno.test("pages of large skills stay small, and lose none", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 511 }, (_, index) => [`references/${index}.md`, ""]),
  );
  const skills = Array.from({ length: 20 }, (_, index) =>
    skill({
      files: {
        ...files,
        "SKILL.md": `---\nname: s-${index}\ndescription: Large\n---\n`,
      },
    }));
  await using server = await startServer({ skills });
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const response = await server.call("skills/list", { cursor });
    const text = await response.text();
    assert(text.length < 1024 * 1024);
    const { result } = JSON.parse(text);
    for (const { frontmatter } of result.skills) names.push(frontmatter.name);
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(names, skills.map((_, index) => `s-${index}`));
});

Deno.test("a page of skills has at most 512 KiB, and one skill at least", () => {
  const entry = (bytes: number) => ({
    a: "a".repeat(bytes - '{"a":""}'.length),
  });
  const half = entry(256 * 1024);
  assert.equal(skillsPerPage([half, half, half]), 2);
  assert.equal(skillsPerPage([half, entry(256 * 1024 + 1)]), 1);
  assert.equal(skillsPerPage([entry(600 * 1024)]), 1);
});

function manual(lines: string, body = ""): SkillDefinition {
  return { files: { "SKILL.md": `---\n${lines}\n---\n${body}` } };
}

function withFile(path: string, content = ""): SkillDefinition {
  return { files: { "SKILL.md": MANUAL_ALONE, [path]: content } };
}

const MANUAL_ALONE = "---\nname: refunds\ndescription: Money\n---\n";
const MANY = Object.fromEntries(
  Array.from({ length: 512 }, (_, index) => [`${index}.md`, ""]),
);

const REFUSED: [what: string, SkillDefinition, complaint: RegExp][] = [
  ["no SKILL.md", { files: { "skill.md": MANUAL } }, /^skill 1: .*SKILL\.md/],
  ["no name", manual("description: Money"), /^skill 1: name must be/],
  ...["Refunds", "a--b", "-a", "a_b", "a".repeat(65), "1"].map((name) =>
    [
      `the name ${name}`,
      manual(`name: ${name}\ndescription: Money`),
      /: name must be the folder's/,
    ] satisfies [string, SkillDefinition, RegExp]
  ),
  [
    "no description",
    manual("name: refunds"),
    /^skill refunds: description must have/,
  ],
  [
    "an empty description",
    manual('name: refunds\ndescription: ""'),
    /description must have/,
  ],
  [
    "a blank description",
    manual('name: refunds\ndescription: "  "'),
    /description must have/,
  ],
  [
    "a long description",
    manual(`name: refunds\ndescription: ${"a".repeat(1025)}`),
    /description must have/,
  ],
  [
    "metadata that is no map",
    manual("name: a\ndescription: b\nmetadata: c"),
    /metadata must be a map/,
  ],
  [
    "metadata under a name of MCP's",
    manual("name: a\ndescription: b\nmetadata: {io.modelcontextprotocol/c: d}"),
    /io\.modelcontextprotocol\/c is a name for extensions/,
  ],
  [
    "a link to a file that is not there",
    manual("name: a\ndescription: b", "See [it](references/it.md)."),
    /SKILL\.md links to references\/it\.md, which is not among its files/,
  ],
  [
    "such a link between ~~~ in a line and a block of code",
    manual("name: a\ndescription: b", "Or ~~~: [it](it.md)\n~~~\n"),
    /links to it\.md/,
  ],
  [
    "such a link with a colon in a file's name",
    manual("name: a\ndescription: b", "[it](references/a:b.md)"),
    /links to references\/a:b\.md/,
  ],
  ...["../a", "/a", "a//b", "./a", "a b.md", "ä.md", "a/", "a?b", ""].map((
    path,
  ) =>
    [
      `the path "${path}"`,
      withFile(path),
      /must be a path in the skill's folder/,
    ] satisfies [string, SkillDefinition, RegExp]
  ),
  [
    "a path of 4097 characters",
    withFile("a".repeat(4097)),
    /must be a path in the skill's folder/,
  ],
  [
    "513 files",
    { files: { "SKILL.md": MANUAL_ALONE, ...MANY } },
    /at most 512 files/,
  ],
  [
    "more than 16 MiB",
    withFile("a.txt", "a".repeat(16 * 1024 * 1024)),
    /at most 512 files and 16 MiB/,
  ],
];

for (const [what, definition, complaint] of REFUSED) {
  Deno.test(`a skill with ${what} is refused at the start`, async () => {
    const skills = [skill(definition)];
    await assert.rejects(testServer({ skills }), (error) => {
      assert(error instanceof CatalogueError);
      assert.equal(error.complaints.length, 1);
      assert.match(error.complaints[0], complaint);
      return true;
    });
  });
}

Deno.test("a skill may be as large as any client takes", () => {
  const name = "a".repeat(64);
  const text = `---\nname: ${name}\ndescription: ${"b".repeat(1024)}\n---\n`;
  const path = "c".repeat(4096);
  const rest = "d".repeat(16 * 1024 * 1024 - text.length);
  const { entry } = compileSkill(
    skill({ files: { "SKILL.md": text, [path]: rest } }),
  );
  const [, file] = entry.resources as { uri: string }[];
  assert.equal(file.uri, `skill://${name}/${path}`);
});

Deno.test("a skill's links may lead to its folder, and by any way to its files", () => {
  const text = "[all](./) [here](.) [top](#top) [a](././v1./a.md) [b](v1./)";
  compileSkill(skill({
    files: { "SKILL.md": `${MANUAL_ALONE}${text}`, "v1./a.md": "" },
  }));
});

Deno.test("a file's type does not depend on the case of its name", () => {
  const { resources } = compileSkill(skill(withFile("SEAL.PNG")));
  assert.equal(resources[1].mimeType, "image/png");
});

Deno.test("two skills of a name, and a resource at a skill's address, are refused", async () => {
  const uri = "skill://refunds/SKILL.md";
  const other = resource({ uri, name: "other", read: () => "" });
  const skills = [skill(MANUAL_ALONE), skill(MANUAL_ALONE)];
  await assert.rejects(testServer({ skills, resources: [other] }), (error) => {
    assert(error instanceof CatalogueError);
    assert.deepEqual(error.complaints, [
      "skill refunds: duplicate name",
      `resource ${uri}: is a file of a skill`,
      `resource ${uri}: is a file of a skill`,
    ]);
    return true;
  });
});

Deno.test("a skill is for those who hold its scopes", async () => {
  const kept = skill({
    files: { "SKILL.md": MANUAL_ALONE },
    scopes: ["money"],
  });
  await using server = await testServer({ skills: [kept] });
  const [{ uri }] = await server.as({ scopes: [] }).skills();
  await assert.rejects(server.as({ scopes: [] }).read(uri), /money/);
  const { text } = await server.as({ scopes: ["money"] }).read(uri);
  assert.equal(text, MANUAL_ALONE);
});
