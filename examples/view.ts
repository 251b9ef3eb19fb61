/**
 * A tool with a view: the daylight of a place through a year, where the person
 * picks a day. `deno run -A view.ts --views` shows it on
 * http://127.0.0.1:3000/views.
 */
import { result, serve, tool, ToolError, z } from "@tool-server/tool-server";
import { sunOf } from "./daylight/sun.ts";
import html from "./daylight/view.html" with { type: "text" };

const place = z.object({
  place: z.string().max(80).describe("Its name, as people say it."),
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
  timeZone: z.string().default("UTC").describe("Such as Europe/Zurich."),
});

const day = z.object({
  date: z.iso.date(),
  minutes: z.int().describe("How long the sun is up."),
});

const annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  openWorldHint: false,
};

export const daylight = tool({
  name: "daylight",
  title: "Daylight",
  description: "Shows how long the sun is up through a year at a place.",
  input: place.extend({ year: z.int().min(1950).max(2100).default(2026) }),
  output: z.object({
    place: z.string(),
    year: z.int(),
    shortest: day,
    longest: day,
  }),
  annotations,
  view: html,
  samples: {
    Bern: {
      input: {
        place: "Bern",
        latitude: 46.95,
        longitude: 7.45,
        timeZone: "Europe/Zurich",
      },
    },
    "Tromsø, with midnight sun": {
      input: {
        place: "Tromsø",
        latitude: 69.65,
        longitude: 18.96,
        timeZone: "Europe/Oslo",
      },
    },
    Quito: {
      input: {
        place: "Quito",
        latitude: -0.18,
        longitude: -78.47,
        timeZone: "America/Guayaquil",
      },
    },
  },
  run({ place, latitude, longitude, timeZone, year }) {
    const clock = clockOf(timeZone);
    const days = Array.from(daysOf(year), (midnight) => {
      const sun = sunOf({ latitude, longitude }, midnight);
      const date = new Date(midnight).toISOString().slice(0, 10);
      return {
        ...sun,
        date,
        up: [sun.rise, sun.set].map((it) => it && clock(it)),
      };
    });
    // If several days are equally long, the sun is highest on the longest.
    const ordered = days.toSorted((a, b) =>
      a.minutes - b.minutes || a.height - b.height
    );
    const [shortest, longest] = [ordered[0], ordered.at(-1)!].map((
      { date, minutes },
    ) => ({ date, minutes }));
    return result({ place, year, shortest, longest }, {
      content: `In ${place} the sun is up for ${shortest.minutes} minutes on ` +
        `${shortest.date} and for ${longest.minutes} on ${longest.date}.`,
      // A model has no use for the data of every day.
      meta: { days: days.map(({ minutes, up }) => [minutes, ...up]) },
    });
  },
});

/** The tool that the view calls when the person picks a day. */
export const sunOfDay = tool({
  name: "sun_of_day",
  title: "Sun of a day",
  description:
    "Tells when the sun rises and sets on a day, and how high it is.",
  input: place.omit({ place: true }).extend({ date: z.iso.date() }),
  output: z.object({
    rise: z.string().optional(),
    set: z.string().optional(),
    minutes: z.int(),
    height: z.int().describe("At noon, in degrees."),
  }),
  annotations,
  visibility: ["app"],
  run({ latitude, longitude, timeZone, date }) {
    const clock = clockOf(timeZone);
    const words = (time?: number) => {
      if (time === undefined) return undefined;
      const minutes = clock(time);
      return [Math.floor(minutes / 60), minutes % 60]
        .map((it) => `${it}`.padStart(2, "0")).join(":");
    };
    const sun = sunOf({ latitude, longitude }, Date.parse(date));
    return {
      rise: words(sun.rise),
      set: words(sun.set),
      minutes: sun.minutes,
      height: Math.round(sun.height),
    };
  },
});

function* daysOf(year: number): Generator<number> {
  const end = Date.UTC(year + 1, 0, 1);
  for (let day = Date.UTC(year, 0, 1); day < end; day += 86_400_000) yield day;
}

/** Gives the minute of the day in a time zone. */
function clockOf(timeZone: string): (time: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone,
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    throw new ToolError(`${timeZone} is no time zone. Use one of the IANA's.`);
  }
  return (time) => {
    const [hours, minutes] = format.format(time).split(":").map(Number);
    return hours * 60 + minutes;
  };
}

if (import.meta.main) {
  await serve({
    name: "daylight",
    title: "Daylight",
    version: "1.0.0",
    tools: [daylight, sunOfDay],
  });
}
