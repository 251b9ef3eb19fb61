/**
 * The times of sunrise and sunset, to about two minutes.
 *
 * @see https://en.wikipedia.org/wiki/Sunrise_equation
 */

const RADIANS = Math.PI / 180;
const DAY_MILLISECONDS = 86_400_000;

/** Noon of the first of January 2000 in UTC, from which days are counted. */
const EPOCH = Date.UTC(2000, 0, 1, 12);

/**
 * The height of the sun at sunrise and sunset: its upper edge, with refraction.
 */
const HORIZON = -0.833 * RADIANS;

/** A place on Earth, in degrees: north and east are positive. */
export interface Place {
  latitude: number;
  longitude: number;
}

/** The sun of one day; in epoch milliseconds. */
export interface Sun {
  /** Undefined if it is up, or down, all day. */
  rise?: number;
  set?: number;
  /** The minutes for which it is up. */
  minutes: number;
  /** The height at noon, in degrees. */
  height: number;
}

/** Computes the sun of a day, given as midnight in UTC. */
export function sunOf({ latitude, longitude }: Place, midnight: number): Sun {
  const day = Math.round((midnight - EPOCH) / DAY_MILLISECONDS + 0.5) -
    longitude / 360;
  const anomaly = (357.5291 + 0.98560028 * day) * RADIANS;
  const center = 1.9148 * Math.sin(anomaly) + 0.02 * Math.sin(2 * anomaly) +
    0.0003 * Math.sin(3 * anomaly);
  const ecliptic = anomaly + (center + 180 + 102.9372) * RADIANS;
  const noon = EPOCH + DAY_MILLISECONDS *
      (day + 0.0053 * Math.sin(anomaly) - 0.0069 * Math.sin(2 * ecliptic));
  const declination = Math.asin(
    Math.sin(ecliptic) * Math.sin(23.4397 * RADIANS),
  );
  const north = latitude * RADIANS;
  const height = 90 - Math.abs(latitude - declination / RADIANS);
  const cosine = (Math.sin(HORIZON) - Math.sin(north) * Math.sin(declination)) /
    (Math.cos(north) * Math.cos(declination));
  if (cosine <= -1) return { minutes: 1440, height };
  if (cosine >= 1) return { minutes: 0, height };
  const half = Math.acos(cosine) / (2 * Math.PI) * DAY_MILLISECONDS;
  return {
    rise: noon - half,
    set: noon + half,
    minutes: Math.round(2 * half / 60_000),
    height,
  };
}
