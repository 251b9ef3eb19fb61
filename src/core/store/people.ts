/**
 * The people who have grants, for operators: all people by name, or those whom
 * a search finds.
 * @module
 */
import type { Grant } from "../oauth/grant.ts";
import {
  isFoundBy,
  personSortKey,
  personTerms,
  searchWords,
} from "../oauth/person.ts";
import type { Database, Found } from "../kv/database.ts";
import type { GrantStore } from "./grants.ts";
import { type PeopleCursor, peopleCursorOf, peopleRange } from "../kv/keys.ts";
import type { ListedPerson } from "./listed_people.ts";

/** The number of list entries that one read gets. */
const PLACES_PER_READ = 200;
const MAX_PLACES = 2000;

/** The maximum number of a person's grants that a page reads. */
export const MAX_GRANTS_READ = 100;

/** A person and their active grants, newest first. */
export interface PersonGrants {
  subject: string;
  grants: Grant[];
}

interface PeoplePage {
  people: PersonGrants[];
  /** The cursor of the next page; undefined on the last page. */
  next?: PeopleCursor;
}

/** Formats a cursor for a link or a command. */
export function printCursor({ person, text }: PeopleCursor): string {
  return person + text;
}

/** Parses a formatted cursor; undefined if it is malformed. */
export function parseCursor(printed = ""): PeopleCursor | undefined {
  const [, person, text] = /^([\w-]{16})(.{0,60})$/su.exec(printed) ?? [];
  return person === undefined ? undefined : { person, text };
}

interface PeopleQuery {
  /**
   * Search words. Each must begin a word of the person's name or address. By
   * default everyone is found.
   */
  search?: string;
  after?: PeopleCursor;
  most: number;
}

export function peopleStore(
  database: Database,
  grants: Pick<GrantStore, "listOfSubject">,
) {
  async function heldBy(subject: string): Promise<Grant[]> {
    const held = await grants.listOfSubject(subject, MAX_GRANTS_READ);
    return held.filter(({ kind }) => kind !== "client");
  }

  /**
   * Finds the person of a list entry. Undefined if they are shown at another
   * entry, or not at all.
   */
  async function personAt(
    { key, value: { subject }, versionstamp }: Found<ListedPerson>,
    words: readonly string[],
    lookup: string | undefined,
  ): Promise<PersonGrants | undefined> {
    const { text } = peopleCursorOf(key);
    const held = await heldBy(subject);
    if (held.length === 0) {
      // With a check, so that an entry that a new grant has just written is not
      // deleted.
      database.background(async () => {
        await database.commit((transaction) =>
          transaction.check({ key, versionstamp }).delete(key)
        );
      });
      return undefined;
    }
    // Each person has several entries, and is shown at the first.
    const places = lookup === undefined
      ? [personSortKey(held[0])]
      : held.flatMap(personTerms).filter((term) => term.startsWith(lookup));
    if (places.toSorted().at(0) !== text) return undefined;
    const isWanted = held.some((grant) => isFoundBy(grant, words));
    return isWanted ? { subject, grants: held } : undefined;
  }

  async function find(
    { search = "", most, ...from }: PeopleQuery,
  ): Promise<PeoplePage> {
    const words = searchWords(search);
    const lookup = words.toSorted((a, b) => b.length - a.length).at(0);
    const by = lookup === undefined ? "name" : "word";
    const begins = lookup ?? "";
    // The cursor of a link may be invented, or belong to another search.
    let after = isPlaceAmong(from.after, begins) ? from.after : undefined;
    const people: PersonGrants[] = [];
    for (let read = 0; read < MAX_PLACES; read += PLACES_PER_READ) {
      const { found, last } = await database.listSome<ListedPerson>(
        peopleRange(by, { begins, after }),
        PLACES_PER_READ,
      );
      const same = Map.groupBy(
        found,
        ({ key }) => printCursor(peopleCursorOf(key)),
      );
      const places = [...same.values()].map(([first]) => first);
      while (places.length > 0) {
        const some = places.splice(0, most - people.length);
        const shown = await Promise.all(
          some.map((place) => personAt(place, words, lookup)),
        );
        people.push(...shown.filter((person) => person !== undefined));
        after = peopleCursorOf(some.at(-1)!.key);
        if (people.length === most) {
          const isEnd = places.length === 0 && last === undefined;
          return { people, next: isEnd ? undefined : after };
        }
      }
      if (last === undefined) return { people };
      after = peopleCursorOf(last);
    }
    return { people, next: after };
  }

  return {
    /** Lists people by name, or those whom a search finds. */
    async list(query: PeopleQuery): Promise<PeoplePage> {
      // A search for a whole subject finds only that person.
      const subject = query.after ? "" : query.search?.trim() ?? "";
      const held = subject === "" ? [] : await heldBy(subject);
      return held.length > 0
        ? { people: [{ subject, grants: held }] }
        : await find(query);
    },
  };
}

/**
 * True if a cursor is in the part of the list whose texts begin with `begins`.
 */
function isPlaceAmong(
  place: PeopleCursor | undefined,
  begins: string,
): place is PeopleCursor {
  if (!place?.text.startsWith(begins)) return false;
  // U+10FFFF marks the end of that part, so no text continues with it.
  return !place.text.slice(begins.length).startsWith("\u{10ffff}");
}
