import assert from "node:assert/strict";
import { TemporaryDirectory } from "../../../tests/kit/process.ts";
import { reservePath, writeFiles } from "../files.ts";
import { copyPackage, updatePackage } from "../package_files.ts";
import { PACKAGE, VENDOR_FOLDER } from "../source.ts";

/** Makes a clone of a release. */
async function makeClone(path: string, version: string): Promise<string> {
  const publish = { include: ["deno.json", "src"], exclude: ["src/tools"] };
  await writeFiles(path, {
    "deno.json": JSON.stringify({ name: PACKAGE, version, publish }),
    "src/mod.ts": version,
    [`src/only_${version}.ts`]: "",
    "src/tools/mine.ts": "",
  });
  return path;
}

/** Reads the version of the complete copy that a project links. */
async function linkedVersion(project: string): Promise<string> {
  const { links: [link] } = JSON.parse(
    await Deno.readTextFile(`${project}/deno.json`),
  );
  const { version } = JSON.parse(
    await Deno.readTextFile(`${project}/${link}/deno.json`),
  );
  const names = (await Array.fromAsync(Deno.readDir(`${project}/${link}/src`)))
    .map(({ name }) => name).sort();
  assert.deepEqual(names, ["mod.ts", `only_${version}.ts`]);
  assert.equal(
    await Deno.readTextFile(`${project}/${link}/src/mod.ts`),
    version,
  );
  return version;
}

/** The operations that change files. */
const CHANGES = [
  ...["mkdir", "copyFile", "rename", "remove", "writeTextFile"] as const,
];

/** Lets the file system fail from its nth change on, as after a crash. */
function crashAt(count: number): Disposable {
  const whole = { ...Deno };
  for (const name of CHANGES) {
    Object.defineProperty(Deno, name, {
      value: (...args: never[]) => {
        if (--count < 0) return Promise.reject(new Error("crashed"));
        return (whole[name] as (...args: never[]) => Promise<void>)(...args);
      },
      configurable: true,
      writable: true,
    });
  }
  return {
    [Symbol.dispose]() {
      for (const name of CHANGES) {
        Object.defineProperty(Deno, name, {
          value: whole[name],
          configurable: true,
          writable: true,
        });
      }
    },
  };
}

Deno.test("writeFiles() leaves no part of a file on a full disk, and a file that was there", async () => {
  await using directory = new TemporaryDirectory();
  const { writeTextFile } = Deno;
  const write = () => writeFiles(directory.path, { "a.ts": "a long text" });
  Deno.writeTextFile = async (path, text, options) => {
    await writeTextFile(path, `${text}`.slice(0, 3), options);
    throw new Error("No space left");
  };
  try {
    await assert.rejects(write(), /No space left/);
  } finally {
    Deno.writeTextFile = writeTextFile;
  }
  await write();
  await assert.rejects(write(), Deno.errors.AlreadyExists);
  const text = await Deno.readTextFile(`${directory.path}/a.ts`);
  assert.equal(text, "a long text");
});

Deno.test("updatePackage() leaves a project that works wherever it stops, and completes what it was stopped at", async () => {
  await using directory = new TemporaryDirectory();
  const one = await makeClone(`${directory.path}/one`, "1.0.0");
  const two = await makeClone(`${directory.path}/two`, "2.0.0");
  let isDone = false;
  let stops = 0;
  for (; !isDone; stops++) {
    const project = `${directory.path}/project${stops}`;
    await writeFiles(project, {
      "deno.json": JSON.stringify({
        imports: { [PACKAGE]: `jsr:${PACKAGE}@1.0.0` },
        links: [`./${VENDOR_FOLDER}`],
      }),
    });
    await copyPackage(one, `${project}/${VENDOR_FOLDER}`);
    try {
      using _crash = crashAt(stops);
      await updatePackage(two, project);
      isDone = true;
    } catch (error) {
      assert.equal((error as Error).message, "crashed");
    }
    await linkedVersion(project);
    assert.equal(await updatePackage(two, project), "2.0.0");
    assert.equal(await linkedVersion(project), "2.0.0");
    const text = await Deno.readTextFile(`${project}/deno.json`);
    assert.deepEqual(JSON.parse(text), {
      imports: { [PACKAGE]: `jsr:${PACKAGE}@2.0.0` },
      links: [`./${VENDOR_FOLDER}`],
    });
    const left = await Array.fromAsync(Deno.readDir(`${project}/vendor`));
    assert.deepEqual(left.map(({ name }) => name), ["tool-server"]);
  }
  assert(stops > 10);
});

Deno.test("updatePackage() refuses a second update at a time, which writes nothing", async () => {
  await using directory = new TemporaryDirectory();
  const clone = await makeClone(`${directory.path}/clone`, "2.0.0");
  const project = `${directory.path}/project`;
  await copyPackage(clone, `${project}/${VENDOR_FOLDER}`);
  const links = JSON.stringify({ links: [`./${VENDOR_FOLDER}`] });
  await Deno.writeTextFile(`${project}/deno.json`, links);
  const files = () => Array.fromAsync(Deno.readDir(`${project}/vendor`));
  const before = await files();
  {
    await using _first = await reservePath(`${project}/deno.json`);
    await assert.rejects(
      updatePackage(clone, project),
      /Another command is making .*deno\.json$/,
    );
    assert.deepEqual(await files(), before);
  }
  assert.equal(await updatePackage(clone, project), "2.0.0");
});

Deno.test("updatePackage() refuses a project that links no copy, and a folder that is no clone", async () => {
  await using directory = new TemporaryDirectory();
  const clone = await makeClone(`${directory.path}/clone`, "1.0.0");
  await writeFiles(`${directory.path}/project`, { "deno.json": "{}" });
  await assert.rejects(
    updatePackage(clone, `${directory.path}/project`),
    /links no \.\/vendor\/tool-server/,
  );
  await copyPackage(clone, `${directory.path}/project/${VENDOR_FOLDER}`);
  const links = JSON.stringify({ links: [`./${VENDOR_FOLDER}`] });
  await Deno.writeTextFile(`${directory.path}/project/deno.json`, links);
  await assert.rejects(
    updatePackage(`${directory.path}/project`, `${directory.path}/project`),
    /is no clone of/,
  );
  await linkedVersion(`${directory.path}/project`);
});
