// Loading in three stages: a skeleton at once, a bar after 300 ms, text after one second.
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import "./loading.css";

const BAR_MS = 300;
const TEXT_MS = 1000;

/** The stage of waiting: 0 skeleton, 1 bar, 2 text. */
export function useWaitStep(): 0 | 1 | 2 {
  const [step, setStep] = useState<0 | 1 | 2>(0);
  useEffect(() => {
    const bar = setTimeout(() => setStep(1), BAR_MS);
    const text = setTimeout(() => setStep(2), TEXT_MS);
    return () => {
      clearTimeout(bar);
      clearTimeout(text);
    };
  }, []);
  return step;
}

interface Props {
  /** What is being done, e.g. "Decoding 3 hosts of run x". */
  what: string;
  rows?: number;
}

/** Progress of the requests that components below wait for, e.g. "2 of 3 hosts read, waiting for worker-2"; null if unknown. */
export const Progress = createContext<string | null>(null);

/** Placeholder for content that is being loaded. */
export function Loading({ what, rows = 12 }: Props) {
  const step = useWaitStep();
  const progress = useContext(Progress);
  return (
    <div class="loading" role="status" aria-busy="true">
      <div class={step > 0 ? "loading-bar on" : "loading-bar"} />
      <p class="loading-text">{step > 1 ? (progress === null ? `${what}…` : `${what}: ${progress}…`) : "\u00a0"}</p>
      <div class="loading-rows" aria-hidden="true">
        {Array.from({ length: rows }, (_, i) => (
          <div key={i} class={`loading-row w${(i * 7) % 5}`} />
        ))}
      </div>
    </div>
  );
}
