/**
 * The keys of the database in memory, sorted, so that a range is found without
 * reading the other keys.
 *
 * @module
 */
import { findPlace } from "../find_place.ts";

/**
 * The maximum number of keys in a block. Adding a key moves all later ones of
 * its block.
 */
const MAX_BLOCK = 1024;

/** Strings without duplicates, in the order of their UTF-16 code units. */
export class SortedKeys {
  /** The sorted keys, in blocks, none of which is empty. */
  readonly #blocks: string[][] = [];

  add(key: string): void {
    const index = this.#blockOf(key);
    const block = this.#blocks[index] ??= [];
    const place = findPlace(block.length, (place) => block[place] < key);
    if (block[place] === key) return;
    block.splice(place, 0, key);
    if (block.length < MAX_BLOCK) return;
    this.#blocks.splice(index + 1, 0, block.splice(MAX_BLOCK / 2));
  }

  delete(key: string): void {
    const index = this.#blockOf(key);
    const block = this.#blocks[index] ?? [];
    const place = findPlace(block.length, (place) => block[place] < key);
    if (block[place] !== key) return;
    block.splice(place, 1);
    if (block.length === 0) this.#blocks.splice(index, 1);
  }

  *from(start: string): Generator<string> {
    let index = this.#blockOf(start);
    let block = this.#blocks[index];
    if (!block) return;
    let place = findPlace(block.length, (place) => block[place] < start);
    for (; block; block = this.#blocks[++index], place = 0) {
      for (; place < block.length; place++) yield block[place];
    }
  }

  /** Finds the last block whose first key is not after `key`. */
  #blockOf(key: string): number {
    const next = findPlace(
      this.#blocks.length,
      (index) => this.#blocks[index][0] <= key,
    );
    return Math.max(0, next - 1);
  }
}
