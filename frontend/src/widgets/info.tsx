// The (i) beside a name: what a number means, on hover and on focus.
import "./info.css";

interface Props {
  text: string;
  label: string;
}

/** The text is the accessible name too, so that a screen reader needs no hover. */
export function Info({ text, label }: Props) {
  return (
    <span class="info" tabIndex={0} role="note" aria-label={`${label}: ${text}`} data-tip={text}>
      i
    </span>
  );
}
