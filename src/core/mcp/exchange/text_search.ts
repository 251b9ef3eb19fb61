/**
 * Searches a text for many patterns at once, by the Aho-Corasick algorithm: it
 * reads the text once, however many patterns there are, and whatever they and
 * the text repeat.
 * @module
 */

/** The minimum length of a pattern: the filter knows its first characters. */
export const MIN_PATTERN = 4;

/** The number of hashes: each character of a beginning adds four bits. */
const HASHES = 1 << 4 * MIN_PATTERN;

/** Adds a character to the hash of the latest {@linkcode MIN_PATTERN}. */
const hashed = (hash: number, unit: number) =>
  ((hash << 4) + unit) & (HASHES - 1);

type Text = Pick<string, "length" | "charCodeAt">;

/** The places of a text from `start` to before `end`. */
export type Range = [start: number, end: number];

export class TextSearch {
  /** A bit for each hash of a pattern's first characters. */
  readonly #filter = new Uint8Array(HASHES / 8);
  // The nodes of the tree of all beginnings of patterns. The root is 0, which
  // is also no node.
  readonly #unit: Uint16Array;
  readonly #firstChild: Uint32Array;
  readonly #sibling: Uint32Array;
  /** The node of the longest other beginning at which a node's text ends. */
  readonly #shorter: Uint32Array;
  /** The length of the longest pattern at which a node's text ends. */
  readonly #longest: Uint32Array;
  /** The nodes of the whole patterns. */
  readonly #whole: Uint32Array;

  /** @param patterns each of at least {@linkcode MIN_PATTERN} characters */
  constructor(private readonly patterns: readonly string[]) {
    const count = patterns.reduce((sum, { length }) => sum + length, 1);
    this.#unit = new Uint16Array(count);
    this.#firstChild = new Uint32Array(count);
    this.#sibling = new Uint32Array(count);
    this.#shorter = new Uint32Array(count);
    this.#longest = new Uint32Array(count);
    this.#whole = new Uint32Array(patterns.length);
    const most = Math.max(0, ...patterns.map(({ length }) => length));
    let nodes = 1;
    // A node needs the shorter ones, so that all patterns grow together.
    for (let depth = 0; depth < most; depth++) {
      for (const [nth, pattern] of patterns.entries()) {
        if (depth >= pattern.length) continue;
        const unit = pattern.charCodeAt(depth);
        const parent = this.#whole[nth];
        const node = this.#childOf(parent, unit) ||
          this.#grow(parent, unit, nodes++);
        if (depth === pattern.length - 1) this.#longest[node] = depth + 1;
        this.#whole[nth] = node;
      }
    }
    for (const pattern of patterns) {
      let hash = 0;
      for (let at = 0; at < MIN_PATTERN; at++) {
        hash = hashed(hash, pattern.charCodeAt(at));
      }
      this.#filter[hash >> 3] |= 1 << (hash & 7);
    }
  }

  #grow(parent: number, unit: number, node: number): number {
    const shorter = parent === 0 ? 0 : this.#step(this.#shorter[parent], unit);
    this.#shorter[node] = shorter;
    this.#longest[node] = this.#longest[shorter];
    this.#unit[node] = unit;
    this.#sibling[node] = this.#firstChild[parent];
    return this.#firstChild[parent] = node;
  }

  #childOf(node: number, unit: number): number {
    let child = this.#firstChild[node];
    while (child > 0 && this.#unit[child] !== unit) {
      child = this.#sibling[child];
    }
    return child;
  }

  /** Returns the node of the longest beginning that ends with a character. */
  #step(node: number, unit: number): number {
    while (true) {
      const child = this.#childOf(node, unit);
      if (child > 0 || node === 0) return child;
      node = this.#shorter[node];
    }
  }

  /** Calls `visit` with each node, except the root, and its end in a text. */
  #walk(text: Text, visit: (node: number, end: number) => void): void {
    let node = 0;
    let hash = 0;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (node === 0) {
        hash = hashed(hash, unit);
        if ((this.#filter[hash >> 3] & 1 << (hash & 7)) === 0) continue;
        for (let behind = MIN_PATTERN - 1; behind > 0; behind--) {
          node = this.#step(node, text.charCodeAt(at - behind));
        }
      }
      node = this.#step(node, unit);
      if (node > 0) visit(node, at + 1);
    }
  }

  /** Returns the patterns that occur in a text. */
  patternsIn(text: Text): Set<string> {
    let seen: Uint8Array | undefined;
    this.#walk(text, (node) => {
      seen ??= new Uint8Array(this.#unit.length);
      for (; seen[node] === 0 && node > 0; node = this.#shorter[node]) {
        seen[node] = 1;
      }
    });
    if (!seen) return new Set();
    return new Set(this.patterns.filter((_, nth) => seen![this.#whole[nth]]));
  }

  /** Lists, in order, where patterns are. Those that overlap are one range. */
  rangesIn(text: Text): Range[] {
    const ranges: Range[] = [];
    this.#walk(text, (node, end) => {
      if (this.#longest[node] === 0) return;
      let start = end - this.#longest[node];
      while (ranges.length > 0 && ranges.at(-1)![1] > start) {
        start = Math.min(start, ranges.pop()![0]);
      }
      ranges.push([start, end]);
    });
    return ranges;
  }
}
