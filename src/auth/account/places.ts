/**
 * Places of the account: a part, and what is asked of it, or a wait. A form and a
 * sign-in carry the place that they lead back to.
 *
 * @module
 */
import type { PartLink } from "../../pages/account_page.tsx";

/** A longer one is cut to its part: it travels through the provider. */
const MOST_CHARACTERS = 200;

/** The page of a wait: `wait/` and an id that the store of waits made. */
const WAIT = /^wait\/[\w-]{43}$/;

/** A part by its name, and the parameters that are kept on the way. */
export interface PlacedPart extends Pick<PartLink, "name"> {
  query?: readonly string[];
}

export type AccountPlaces = ReturnType<typeof accountPlaces>;

/** Makes the printer and the reader of places; others lead to the first part. */
export function accountPlaces(baseUrl: string, parts: readonly PlacedPart[]) {
  const known = new Map(parts.map((part) => [part.name, part.query ?? []]));

  function asked(part: string, query: URLSearchParams): URLSearchParams {
    const kept = (known.get(part) ?? []).map((key) => [key, query.get(key)]);
    return new URLSearchParams(
      kept.filter((pair): pair is [string, string] => Boolean(pair[1])),
    );
  }

  return {
    /** Prints a place for a form: `people?person=jo`. */
    print(part: string, query: Record<string, string>): string {
      const params = asked(part, new URLSearchParams(query));
      const place = params.size > 0 ? `${part}?${params}` : part;
      return place.length <= MOST_CHARACTERS ? place : part;
    },

    /** Gives a place that is short and known; the first part for another. */
    check(place = ""): string {
      if (WAIT.test(place)) return place;
      const [part] = place.split("?", 1);
      if (!known.has(part)) return "";
      return place.length <= MOST_CHARACTERS ? place : part;
    },

    /**
     * Gives the address of a place that came back, with a message for its page.
     * Only this server's own parts are places.
     */
    addressOf(place = "", message: Record<string, string> = {}): string {
      if (WAIT.test(place)) return `${baseUrl}/${place}`;
      const [named, query = ""] = place.split("?", 2);
      const part = known.has(named) ? named : "";
      const params = asked(part, new URLSearchParams(query));
      for (const [key, value] of Object.entries(message)) {
        params.set(key, value);
      }
      return `${baseUrl}/account${part && `/${part}`}` +
        (params.size > 0 ? `?${params}` : "");
    },
  };
}
