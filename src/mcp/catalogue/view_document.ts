/**
 * The HTML document of a view.
 *
 * @module
 */
import type { ToolView } from "../../authoring/tool_view.ts";
import { hostChannel } from "../../view/host_channel.ts";
import { makeView } from "../../view/make_view.ts";
import { viewResult } from "../../view/view_result.ts";

const SCRIPT_PLACE = /<script\s+src="tool-server\/view"\s*>\s*<\/script>/gi;

/** Inserts the script that speaks with the client into a document. */
export function withViewScript(html: string): string {
  return html.replace(SCRIPT_PLACE, () => `<script>${viewScript()}</script>`);
}

/**
 * Gives the script, without its comments, in one line: errors name the lines of
 * the author's document.
 */
function viewScript(): string {
  const source = `(${makeView})(globalThis,${hostChannel},${viewResult})`
    .replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\s*/gm, "")
    .replaceAll(/^\s*\/\/.*\n/gm, "")
    .replaceAll(/(?<=[{;,])\s*\n\s*/g, "")
    .replaceAll(/\s*\n\s*/g, " ");
  // Some bundlers wrap functions in a call of __name to keep their names.
  return `globalThis.view=((__name)=>${source})((f)=>f);`;
}

/** The addresses that a document loads, outside of its scripts. */
const LOADED =
  /<(script|img|link|iframe|video|audio|source|embed)\b[^>]*?\s(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi;

/**
 * Checks that clients can show a document.
 *
 * @throws {Error} for a path in place of a document, for a file next to it, and
 * for an origin that the view does not list
 */
export function checkViewDocument(
  html: string,
  { connect = [], load = [], frames = [], domain }: Omit<ToolView, "html">,
): void {
  if (!/<!doctype html|<html/i.test(html)) {
    throw new Error(
      "view must be an HTML document that begins with <!doctype html>, not " +
        "the path of one: import html from './chart.html' with { type: 'text' }",
    );
  }
  for (const origin of [...connect, ...load, ...frames]) checkOrigin(origin);
  if (domain !== undefined) checkOrigin(domain);
  const page = html.replaceAll(SCRIPT_PLACE, "")
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .replaceAll(/(<script\b[^>]*>)[\s\S]*?<\/script>/gi, "$1");
  for (const [, element, address] of page.matchAll(LOADED)) {
    if (/^(data|blob):|^#/i.test(address)) continue;
    const where = element.toLowerCase() === "iframe" ? "frames" : "load";
    if (!/^https?:\/\//i.test(address)) {
      throw new Error(
        `view loads ${address}, which no client has: put it into the document`,
      );
    }
    const allowed = where === "frames" ? frames : load;
    if (!allowed.some((origin) => isFrom(address, origin))) {
      throw new Error(
        `view loads ${address}: put it into the document, or its origin into ` +
          `${where} of the view`,
      );
    }
  }
}

/**
 * Checks an origin by CSP3 §2.3.1: a scheme and a host, whose first label may
 * be `*`.
 */
function checkOrigin(origin: string): void {
  if (/^(https?|wss?):\/\/(\*\.)?[^/*\s;,'"]+$/.test(origin)) return;
  throw new Error(
    `view: ${origin} must be an origin such as https://api.example.com`,
  );
}

function isFrom(address: string, origin: string): boolean {
  const [scheme, host] = origin.split("://");
  const url = new URL(address);
  if (url.protocol !== `${scheme}:`) return false;
  return host.startsWith("*.")
    ? url.host.endsWith(host.slice(1))
    : url.host === host;
}
