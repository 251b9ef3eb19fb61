/**
 * The home of a person in which nothing was kept before. A file of tests has
 * one, so that it downloads each package once.
 *
 * @module
 */
import { TemporaryDirectory } from "./process.ts";

/** Empty, until the file's first test has downloaded. */
export const home = new TemporaryDirectory();
Deno.test.afterAll(() => home[Symbol.asyncDispose]());
