/** Work that several callers wait for at once, done once. */
export interface Flights<T> {
  /**
   * Joins the flight of `key`, or starts it. `start` gets a signal that aborts when the last of
   * those who wait has gone; everybody who joined gets the one result.
   */
  join(key: string, leave: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Flights in the air. */
  readonly size: number;
}

export function createFlights<T>(): Flights<T> {
  const flights = new Map<string, { result: Promise<T>; waiting: number; end: AbortController }>();

  const take = (key: string, start: (signal: AbortSignal) => Promise<T>) => {
    const existing = flights.get(key);
    if (existing) return existing;
    const end = new AbortController();
    const result = start(end.signal).finally(() => flights.delete(key));
    const flight = { result, waiting: 0, end };
    flights.set(key, flight);
    return flight;
  };

  return {
    join: async (key, leave, start) => {
      const flight = take(key, start);
      flight.waiting += 1;
      const onLeave = () => {
        flight.waiting -= 1;
        if (flight.waiting === 0) flight.end.abort();
      };
      if (leave.aborted) onLeave();
      else leave.addEventListener('abort', onLeave, { once: true });
      try {
        return await flight.result;
      } finally {
        leave.removeEventListener('abort', onLeave);
      }
    },
    get size() {
      return flights.size;
    },
  };
}
