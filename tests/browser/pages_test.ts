import axe from "axe-core";
import assert from "node:assert/strict";
import type { Browser, Locator } from "playwright-core";
import { TestBrowser } from "./browser.ts";
import { findClipped } from "./clipped.ts";
import { GALLERY, gallery } from "./gallery.tsx";

/** The looks in which every page must be right. */
const LOOKS = [
  { look: "light", colorScheme: "light", width: 1280, height: 800 },
  { look: "dark", colorScheme: "dark", width: 1280, height: 800 },
  { look: "light-phone", colorScheme: "light", width: 390, height: 780 },
  { look: "dark-phone", colorScheme: "dark", width: 390, height: 780 },
] as const;

/** Serves the gallery to a browser for the time of a test. */
async function withGallery(
  test: (
    browser: Browser,
    origin: string,
  ) => Promise<void>,
): Promise<void> {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    gallery.fetch,
  );
  await using opened = await TestBrowser.open();
  await test(opened.browser, `http://127.0.0.1:${server.addr.port}`);
}

Deno.test("every field to type in looks like the others", () =>
  withGallery(async (browser, origin) => {
    const page = await browser.newPage();
    const looks = new Set<string>();
    for (const name of Object.keys(GALLERY)) {
      await page.goto(`${origin}/${name}`);
      const found = await page.locator(
        "input:not([type=hidden], [type=checkbox], [type=radio])",
      ).evaluateAll((fields) =>
        fields.map((field) => {
          // deno-lint-ignore no-explicit-any
          const style = (globalThis as any).getComputedStyle(field);
          const { height, borderRadius } = style;
          return `${height}, ${borderRadius}`;
        })
      );
      for (const look of found) looks.add(look);
    }
    assert.equal(looks.size, 1, [...looks].join("; "));
  }));

Deno.test("every page has its picture, and axe finds nothing in it, in light and in dark, on a screen and on a phone", () =>
  withGallery(async (browser, origin) => {
    await Promise.all(
      LOOKS.map(async ({ look, colorScheme, width, height }) => {
        const context = await browser.newContext({
          colorScheme,
          viewport: { width, height },
          // The pages' policy would block axe.
          bypassCSP: true,
        });
        const page = await context.newPage();
        for (const name of Object.keys(GALLERY)) {
          await page.goto(`${origin}/${name}`);
          await page.screenshot({
            path: `screenshots/${name}-${look}.png`,
            fullPage: true,
          });
          await page.addScriptTag({ content: axe.source });
          const { passes, violations } = await page.evaluate(() =>
            // deno-lint-ignore no-explicit-any
            (globalThis as any).axe.run()
          );
          assert.ok(passes.length > 5);
          assert.deepEqual(
            violations.map((
              { id, nodes }: { id: string; nodes: { html: string }[] },
            ) => [name, id, nodes[0].html]),
            [],
          );
        }
        await context.close();
      }),
    );
  }));

/** Sizes in CSS pixels: a page at 200 % has half of the window. */
const NARROW = {
  "on a phone of 320 pixels": { viewport: { width: 320, height: 640 } },
  "at 200 % zoom": {
    viewport: { width: 1280 / 2, height: 800 / 2 },
    deviceScaleFactor: 2,
  },
};

for (const [where, options] of Object.entries(NARROW)) {
  Deno.test(`everything in every page is in reach ${where}`, () =>
    withGallery(async (browser, origin) => {
      const page = await browser.newPage(options);
      for (const name of Object.keys(GALLERY)) {
        await page.goto(`${origin}/${name}`);
        assert.deepEqual(await findClipped(page), [], name);
      }
    }));
}

Deno.test("findClipped() finds what is cut off, sticks out and is covered", async () => {
  await using opened = await TestBrowser.open();
  const page = await opened.browser.newPage(NARROW["at 200 % zoom"]);
  await page.setContent(`<!doctype html>
      <p style="overflow: hidden; height: 10px">Cut<br>off</p>
      <div style="overflow-x: auto"><p style="width: 900px">May scroll</p></div>
      <p style="margin-left: -50px">Sticks out</p>
      <p style="display: flex">For <bdi>Ann</bdi></p>
      <a href="#" style="position: absolute; top: 0">Covered</a>
      <div style="position: fixed; inset: 0 0 50%; background: white"></div>`);
  const found = await findClipped(page);
  assert.deepEqual(found.map((text) => text.split(":")[0]), [
    "cut off",
    "sticks out",
    "torn",
    "covered when it has the focus",
  ]);
});

Deno.test("pages run no script but their own, and load nothing", () =>
  withGallery(async (browser, origin) => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("request", (request) => requests.push(request.url()));
    for (const name of Object.keys(GALLERY)) {
      await page.goto(`${origin}/${name}`);
    }
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      requests.filter((url) => !url.startsWith("data:")),
      Object.keys(GALLERY).map((name) => `${origin}/${name}`),
    );
  }));

Deno.test("the copy button copies, and says so", () =>
  withGallery(async (browser, origin) => {
    const context = await browser.newContext();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await context.newPage();
    await page.goto(`${origin}/landing`);
    await page.locator("label", { hasText: "Claude Code" }).click();
    await page.getByRole("button", { name: "Copy for Claude Code" }).click();
    await page.getByRole("status").filter({ hasText: "Copied" }).waitFor();
    assert.equal(
      await page.evaluate("navigator.clipboard.readText()"),
      "claude mcp add --transport http tool-server https://tools.example.com/mcp",
    );
  }));

Deno.test("a new token is on the screen with its button, at any size", () =>
  withGallery(async (browser, origin) => {
    for (const options of Object.values(NARROW)) {
      const page = await browser.newPage(options);
      await page.goto(`${origin}/account-tokens`);
      const copy = page.getByRole("button", { name: "Copy the token" });
      const { y, height } = (await copy.boundingBox())!;
      assert.ok(y >= 0 && y + height <= page.viewportSize()!.height);
      await page.close();
    }
  }));

Deno.test("the landing page is whole without scripts", () =>
  withGallery(async (browser, origin) => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}/landing`);
    assert.equal(await page.getByRole("button").count(), 0);
    // A choice by keyboard, as with any radio buttons.
    await page.getByRole("radio", { name: "Claude", exact: true }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.getByText("claude mcp add --transport http").waitFor();
    await page.locator("label", { hasText: "Cursor" }).click();
    assert.equal(
      await page.getByText("claude mcp add --transport http").isVisible(),
      false,
    );
    assert.match(
      await page.getByRole("link", { name: "Add to Cursor" })
        .getAttribute("href") ?? "",
      /^cursor:/,
    );
  }));

Deno.test("the consent page is read and answered by keyboard alone", () =>
  withGallery(async (browser, origin) => {
    const page = await browser.newPage();
    await page.goto(`${origin}/consent`);
    const reached: string[] = [];
    while (reached.at(-1) !== "Approve" && reached.length < 20) {
      await page.keyboard.press("Tab");
      reached.push(
        await page.evaluate(
          "document.activeElement.name === 'scope' ? 'a scope' " +
            ": document.activeElement.textContent",
        ),
      );
    }
    assert.equal(reached[0], "a scope");
    assert.deepEqual(
      reached.filter((text) => text !== "a scope"),
      [
        "All of permissions",
        "None of permissions",
        "account page",
        "Deny",
        "Approve",
      ],
    );
  }));

for (const [where, options] of Object.entries(NARROW)) {
  Deno.test(`Approve comes into sight after what is given ${where}`, () =>
    withGallery(async (browser, origin) => {
      const page = await browser.newPage(options);
      for (const name of ["consent", "consent-long"]) {
        await page.goto(`${origin}/${name}`);
        const given = page.locator("dd", { has: page.locator("[data-boxes]") });
        const approve = page.getByRole("button", { name: "Approve" });
        const { height } = page.viewportSize()!;
        for (const scroll of [0, 200, 400]) {
          await page.evaluate(`scrollTo(0, ${scroll})`);
          const [list, button] = [
            await given.first().boundingBox(),
            await approve.boundingBox(),
          ];
          assert.ok(button!.y >= list!.y + list!.height, name);
          assert.ok(scroll > 0 || button!.y > height, name);
        }
      }
    }));
}

Deno.test("a long list of scopes is folded, and ticked by All and None", () =>
  withGallery(async (browser, origin) => {
    const page = await browser.newPage();
    await page.goto(`${origin}/consent-long`);
    const ticked = () => page.locator("input[name=scope]:checked").count();
    const box = page.locator("input[name=scope]").first();
    assert.equal(await box.isVisible(), false);
    assert.equal(await ticked(), 14);
    const meaning = page.locator("summary .folded").first();
    assert.equal(await meaning.isVisible(), true);
    await page.locator(".group summary").first().click();
    // The boxes say the same.
    assert.equal(await meaning.isVisible(), false);
    await page.getByRole("button", { name: "None of mail" }).click();
    assert.equal(await ticked(), 6);
    await page.getByText("0 of 8").waitFor();
    await box.check();
    await page.getByText("1 of 8").waitFor();
    await page.getByRole("button", { name: "All of permissions" }).click();
    assert.equal(await ticked(), 14);
    await page.getByText("8 of 8").waitFor();
  }));

Deno.test("the page of a wait offers to open its address first, then Done", () =>
  withGallery(async (browser, origin) => {
    const page = await browser.newPage();
    await page.goto(`${origin}/wait`);
    const actions = page.locator(".actions > *");
    assert.deepEqual(
      (await actions.allTextContents()).map((words) => words.trim()),
      ["Open pay.example.com in a new tab", "Done", "Not now"],
    );
    assert.match(await actions.first().getAttribute("class") ?? "", /primary/);
  }));

Deno.test("providers are rows of one width, and Cancel keeps its distance", () =>
  withGallery(async (browser, origin) => {
    const page = await browser.newPage({
      viewport: { width: 390, height: 780 },
    });
    for (const name of ["chooser", "account-signed-out-several"]) {
      await page.goto(`${origin}/${name}`);
      const width = await page.locator("form").evaluate((form) =>
        form.clientWidth
      );
      let bottom = 0;
      for (const button of await page.getByRole("button").all()) {
        const box = (await button.boundingBox())!;
        assert.equal(Math.round(box.width), width);
        assert.ok(box.y - bottom >= 8);
        bottom = box.y + box.height;
      }
    }
  }));

Deno.test("the parts of the account are one list of links away, by keyboard and without scripts", () =>
  withGallery(async (browser, origin) => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 320, height: 640 },
    });
    const page = await context.newPage();
    await page.goto(`${origin}/account-people`);
    const nav = page.getByRole("navigation", { name: "Your account" });
    assert.equal(await nav.getByRole("link").count(), 9);
    assert.equal(
      await nav.locator("[aria-current=page]").textContent(),
      "People",
    );
    // A line for everyone's parts, a line for those of operators.
    await page.setViewportSize({ width: 390, height: 780 });
    for (const list of await nav.getByRole("list").all()) {
      assert.ok((await list.boundingBox())!.height < 48);
    }
    await nav.getByRole("link", { name: "Connections" }).focus();
    for (const name of ["Tokens", "Calls", "Work", "Your data"]) {
      await page.keyboard.press("Tab");
      assert.equal(await page.locator(":focus").textContent(), name);
    }
  }));

Deno.test("every End, and what it asks once, is in sight without scrolling sideways", () =>
  withGallery(async (browser, origin) => {
    for (const width of [390, 1100]) {
      const page = await browser.newPage({ viewport: { width, height: 800 } });
      for (
        const name of ["account-people", "account-clients", "account-names"]
      ) {
        await page.goto(`${origin}/${name}`);
        const buttons = await page.locator("summary.danger").all();
        assert.ok(buttons.length > 0);
        const isInSight = async (locator: Locator) => {
          const box = await locator.boundingBox();
          assert.ok(box && box.x >= 0 && box.x + box.width <= width, name);
        };
        for (const button of buttons) {
          await isInSight(button);
          await button.click();
          await isInSight(page.locator(".asked[open] button"));
        }
      }
      await page.close();
    }
  }));

Deno.test("a phone shows how to connect before anything is scrolled, and the first tool soon after", () =>
  withGallery(async (browser, origin) => {
    const page = await browser.newPage({
      viewport: { width: 390, height: 780 },
    });
    await page.goto(`${origin}/landing`);
    const bottomOf = async (locator: Locator) => {
      const { y, height } = (await locator.boundingBox())!;
      return y + height;
    };
    const copy = page.getByRole("button", {
      name: "Copy the server's address",
    });
    const install = page.getByRole("link", {
      name: "Open Claude's connectors",
    });
    const first = page.getByRole("heading", { name: "Health" });
    assert.ok(await bottomOf(copy) < await bottomOf(install));
    assert.ok(await bottomOf(install) <= 780);
    assert.ok(await bottomOf(first) <= 780 * 1.25);
  }));
