/**
 * Numbers that look random, and are the same for the same seed.
 *
 * @module
 */

/** A stream of numbers. Streams of one seed with other names are independent. */
export class Random {
  readonly #state: Uint32Array;

  constructor(seed: number, name: string) {
    let hash = 0x811c9dc5 ^ seed;
    for (const character of `${seed} ${name}`) {
      hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    }
    this.#state = Uint32Array.of(hash, seed, 0x9e3779b9, 1);
    for (let n = 0; n < 16; n++) this.next();
  }

  /** Returns a number from 0 up to 1: the generator sfc32. */
  next(): number {
    const state = this.#state;
    const [a, b, c, counter] = state;
    const sum = a + b + counter | 0;
    state[0] = b ^ b >>> 9;
    state[1] = c + (c << 3) | 0;
    state[2] = (c << 21 | c >>> 11) + sum | 0;
    state[3] = counter + 1 | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** Returns a number between two. */
  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  /** Returns a whole number from 0 up to another. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** Returns true in this share of all cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** Returns one of a list. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
}
