// The switch between the plugin's decomposition of time and XProf's, for all pages at once.
import type { Reading } from "../../page/page";

const CHOICES: readonly { reading: Reading; label: string; tip: string }[] = [
  { reading: "own", label: "Measured", tip: "Time by what the devices do and wait for; the parts add up to the step." },
  {
    reading: "xprof",
    label: "As XProf",
    tip: "XProf's step categories and figures, to the last digit.\nOverview, Input pipeline and Pod viewer differ; all other pages show the same figures.",
  },
];

export function ReadingSwitch({ reading: shown, onChoose }: { reading: Reading; onChoose: (reading: Reading) => void }) {
  return (
    <span class="segmented reading" role="group" aria-label="Step times">
      {CHOICES.map(({ reading, label, tip }) => (
        <button key={reading} type="button" aria-pressed={reading === shown} data-tip={tip} onClick={() => onChoose(reading)}>
          {label}
        </button>
      ))}
    </span>
  );
}
