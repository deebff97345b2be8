// Session selection: newest first, with a search field when there are many.
import type { RunSummary } from "../../api/types";
import { cutMiddle, formatBytes, formatDate, plural, sessionTime } from "../../base/format";
import { PickList } from "../../widgets/overlay/picker";
import { Popover } from "../../widgets/overlay/popover";
import { Icon } from "../icons";
import { newestFirst, runTime } from "../address/view";

interface Props {
  runs: readonly RunSummary[];
  current: string | null;
  /** Device types by run, known for runs opened before. */
  devices: ReadonlyMap<string, readonly string[]>;
  onChoose: (run: string) => void;
}

export function SessionPicker({ runs, current, devices, onChoose }: Props) {
  const chosen = runs.find((r) => r.run === current);
  const label = (
    <>
      <span class="picker-label">
        <span class="picker-main">{chosen?.session ?? current ?? "No session"}</span>
        {chosen ? <SessionProperties run={chosen} devices={devices.get(chosen.run)} /> : null}
        {current !== null && !chosen ? <span class="picker-sub">not found</span> : null}
      </span>
      <Icon name="down" />
    </>
  );
  return (
    <Popover
      label={label}
      buttonClass="picker"
      boxClass="sessions"
      popup="listbox"
      disabled={runs.length === 0}
      {...(current !== null && current.length > 48 ? { title: current } : {})}
    >
      {(close) => (
        <PickList
          label="Sessions"
          noun="session"
          value={current}
          choices={newestFirst(runs).map((one) => ({
            id: one.run,
            note: describe(one, devices.get(one.run)),
            mark: one.problems.length ? <span class="warn-mark"> · {plural(one.problems.length, "problem")}</span> : undefined,
          }))}
          onChoose={(run) => {
            close();
            onChoose(run);
          }}
        />
      )}
    </Popover>
  );
}

/** Non-breaking spaces: lines wrap between properties, not within one. */
const unbroken = (text: string): string => text.replace(/ (?!·)/g, "\u00a0");

/** Lines below the name: the directory, then the properties; the time is omitted if the name contains it. */
function SessionProperties({ run, devices }: { run: RunSummary; devices: readonly string[] | undefined }) {
  const place = run.run.slice(0, -run.session.length).replace(/\/$/, "");
  const named = sessionTime(run.session) !== null;
  const lines = [
    place ? `in ${cutMiddle(place, 64)}` : "",
    properties(run, devices)
      .slice(named ? 1 : 0)
      .map(unbroken)
      .join(" · "),
  ];
  return (
    <>
      {lines.filter(Boolean).map((line) => (
        <span key={line} class="picker-sub">
          {line}
        </span>
      ))}
    </>
  );
}

/** Properties of a session: time, hosts and size, device types. */
function properties(run: RunSummary, devices: readonly string[] | undefined): string[] {
  const size = run.hosts ? `${plural(run.hosts, "host")} · ${formatBytes(run.bytes)}` : "empty";
  const time = runTime(run);
  return [...(time > 0 ? [formatDate(time)] : []), size, ...(devices?.length ? [devices.join(", ")] : [])];
}

export function describe(run: RunSummary, devices: readonly string[] | undefined): string {
  return properties(run, devices).join(" · ");
}
