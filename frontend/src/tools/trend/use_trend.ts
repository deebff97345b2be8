// Asks for the runs that are known, and has the others read in slices until all are known or the user stops.
import { useEffect, useRef, useState } from "preact/hooks";
import type { TrendAnswer, TrendApi } from "../../api/trend";

/** Slices after which the page shows what has become known. */
const SHOWN_EVERY = 5;

export interface Following {
  found: TrendAnswer | null;
  error: unknown;
  listed: number;
  remaining: number;
  /** Whether runs are being read. */
  reading: boolean;
  stop: () => void;
  /** Goes on reading, or tries again after an error. */
  go: () => void;
}

export function useTrend(api: TrendApi): Following {
  const [found, setFound] = useState<TrendAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [left, setLeft] = useState({ listed: 0, remaining: 0 });
  const [reading, setReading] = useState(true);
  const [round, setRound] = useState(0);
  const wanted = useRef(true);

  useEffect(() => {
    const gone = new AbortController();
    const { signal } = gone;
    const show = async (): Promise<number> => {
      const answer = await api.known({ signal });
      setFound(answer);
      setLeft(answer);
      return answer.remaining;
    };
    const follow = async (): Promise<void> => {
      let remaining = await show();
      for (let slice = 1; remaining > 0 && wanted.current && !signal.aborted; slice++) {
        const next = await api.read();
        if (signal.aborted) return;
        setLeft(next);
        remaining = next.remaining;
        if (remaining === 0 || !wanted.current || slice % SHOWN_EVERY === 1) remaining = await show();
      }
    };
    wanted.current = true;
    setReading(true);
    setError(null);
    follow()
      .catch((reason: unknown) => {
        if (!signal.aborted) setError(reason);
      })
      .finally(() => {
        if (!signal.aborted) setReading(false);
      });
    return () => gone.abort();
  }, [api, round]);

  return {
    found,
    error,
    ...left,
    reading,
    stop: () => {
      wanted.current = false;
      setReading(false);
    },
    go: () => setRound((n) => n + 1),
  };
}
