import assert from "node:assert/strict";
import { CreateError } from "../files.ts";
import { skillsModule } from "../skills.ts";

const encoder = new TextEncoder();

function folder(
  name: string,
  files: Readonly<Record<string, string | Uint8Array>>,
) {
  const entries = Object.entries(files).map(([path, content]) =>
    [
      path,
      typeof content === "string" ? encoder.encode(content) : content,
    ] as const
  );
  return { name, files: new Map(entries) };
}

const manual = (name: string) =>
  `---\nname: ${name}\ndescription: Does it.\n---\nDo it.\n`;

Deno.test("skillsModule() imports text, and holds what is none", () => {
  const written = skillsModule([
    folder("refunds", {
      "SKILL.md": manual("refunds"),
      "references/terms.md": "Terms",
      "picture.png": new Uint8Array([0x89, 0xff, 0x00]),
    }),
    folder("greeting", { "SKILL.md": manual("greeting") }),
  ]);
  assert.equal(
    written,
    `// Written by \`deno task ts skills\` from the folders next to it.
import { type Skill, skill } from "@tool-server/tool-server/skill";
import file1 from "./refunds/SKILL.md" with { type: "text" };
import file2 from "./refunds/references/terms.md" with { type: "text" };
import file3 from "./greeting/SKILL.md" with { type: "text" };

export const skills: Skill[] = [` +
      'skill({ files: { "SKILL.md": file1, "references/terms.md": file2, ' +
      '"picture.png": Uint8Array.fromBase64("if8A") } }), ' +
      'skill({ files: { "SKILL.md": file3 } })];\n',
  );
});

for (
  const [what, files, complaint] of [
    ["without SKILL.md", { "terms.md": "" }, /refunds must have a SKILL\.md/],
    [
      "whose SKILL.md is no text",
      { "SKILL.md": new Uint8Array([0xff]) },
      /refunds must have a SKILL\.md/,
    ],
    [
      "with another name",
      { "SKILL.md": manual("returns") },
      /name of its folder: name: refunds/,
    ],
    ["without front matter", { "SKILL.md": "Do it." }, /refunds\/SKILL\.md: /],
  ] as const
) {
  Deno.test(`skillsModule() refuses a folder ${what}`, () => {
    assert.throws(
      () => skillsModule([folder("refunds", files)]),
      (error) => error instanceof CreateError && complaint.test(error.message),
    );
  });
}
