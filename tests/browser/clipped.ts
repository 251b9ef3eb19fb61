/**
 * The parts of a page that a person cannot reach or read: cut off, sticking out
 * sideways, covered, or a sentence whose pieces stand side by side as columns.
 *
 * @module
 */
import type { Page } from "playwright-core";

/** Finds the unreachable parts, each with a piece of its HTML. */
export function findClipped(page: Page): Promise<string[]> {
  return page.evaluate(FIND);
}

/**
 * The script for the page: tests are checked as code of Deno, which has no DOM.
 */
const FIND = `(() => {
  const found = [];
  const tell = (what, element) =>
    found.push(what + ": " + element.outerHTML.slice(0, 120));
  const hidden = (element) => !element.checkVisibility({
    opacityProperty: true,
    visibilityProperty: true,
  });
  /** Only for screen readers: one pixel, or cut to nothing. */
  const isSpoken = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width <= 1 || height <= 1 ||
      getComputedStyle(element).clipPath !== "none" ||
      element.parentElement !== null && isSpoken(element.parentElement);
  };
  const scrolls = (element) => {
    for (let at = element.parentElement; at; at = at.parentElement) {
      if (at === document.body) return false;
      if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };
  const width = document.documentElement.clientWidth;
  const root = document.documentElement.scrollWidth;
  if (root > width) found.push("the page is " + root + " wide");
  for (const element of document.body.querySelectorAll("*")) {
    if (hidden(element) || isSpoken(element)) continue;
    const { display, overflowX, overflowY } = getComputedStyle(element);
    const isSaid = ({ nodeType, nodeName, textContent }) =>
      nodeType === 3 && textContent.trim() !== "" || nodeName === "BDI";
    if (
      /flex|grid/.test(display) && element.childElementCount > 0 &&
      [...element.childNodes].filter(isSaid).length > 1
    ) tell("torn", element);
    const cuts = /hidden|clip/;
    if (
      cuts.test(overflowX) && element.scrollWidth > element.clientWidth + 1 ||
      cuts.test(overflowY) && element.scrollHeight > element.clientHeight + 1
    ) tell("cut off", element);
    const { left, right } = element.getBoundingClientRect();
    if ((left < -1 || right > width + 1) && !scrolls(element)) {
      tell("sticks out", element);
    }
  }
  const reachable = "a[href], button, input, select, textarea, summary";
  for (const element of document.body.querySelectorAll(reachable)) {
    if (hidden(element) || isSpoken(element) || element.disabled) continue;
    element.focus();
    const { left, top, width, height } = element.getClientRects()[0];
    const hit = document.elementFromPoint(left + width / 2, top + height / 2);
    if (
      !hit || !(element.contains(hit) || hit.contains(element) ||
        [...element.labels ?? []].some((label) => label.contains(hit)))
    ) tell("covered when it has the focus", element);
  }
  return found;
})()`;
