// The choice of a base below the session: another run that pages show beside it.
import type { Client } from "../../api/client";
import { choicesOf, proposalOf, useRelated } from "../../page/compare/bases";
import type { BaseChoice } from "../../page/page";
import { PickList } from "../../widgets/overlay/picker";
import { Popover } from "../../widgets/overlay/popover";
import { Icon } from "../icons";

const HELP = "A base is another run. Pages show it, this run and the difference side by side.";

interface Props {
  base: BaseChoice;
  run: string | null;
  client: Client;
}

/** The name without the directory that it shares with the run. */
function shortName(base: string, run: string | null): string {
  const place = base.slice(0, base.lastIndexOf("/") + 1);
  return place !== "" && run?.startsWith(place) ? base.slice(place.length) : base;
}

export function BasePicker({ base, run, client }: Props) {
  if (base.choices.length < 2 && base.run === null) return null;
  const known = base.choices.some(({ id }) => id === base.run);
  const label = (
    <>
      <span class="picker-label">
        <span class="picker-main">
          <span class="dim">Base: </span>
          {base.run === null ? "none" : shortName(base.run, run)}
        </span>
        {base.run !== null && !known ? <span class="picker-sub">not found</span> : null}
        {base.run !== null && base.run === run ? <span class="picker-sub">the same run</span> : null}
      </span>
      <Icon name="down" />
    </>
  );
  return (
    <div class="base-picker">
      <Popover
        label={label}
        title={base.run === null ? HELP : `${base.run}\n${HELP}`}
        buttonClass="picker small"
        boxClass="sessions"
        popup="listbox"
      >
        {(close) => (
          <Bases
            base={base}
            run={run}
            client={client}
            onChoose={(id) => {
              close();
              base.choose(id);
            }}
          />
        )}
      </Popover>
      {base.run === null ? null : (
        <button
          type="button"
          class="button ghost icon"
          aria-label="Remove the base"
          data-tip="Remove the base"
          onClick={() => base.choose(null)}
        >
          ✕
        </button>
      )}
    </div>
  );
}

/** The list of runs; what they share is read when it opens. */
function Bases({ base, run, client, onChoose }: Props & { onChoose: (id: string) => void }) {
  const related = useRelated(client, run);
  if (related === null) return <p class="dim">Looking for runs with the same programs…</p>;
  return (
    <PickList
      label="Base runs"
      noun="run"
      value={base.run ?? proposalOf(base, run, related)?.id ?? null}
      choices={choicesOf(base, run, related)}
      onChoose={onChoose}
    />
  );
}
