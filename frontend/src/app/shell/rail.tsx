// The left rail: capture, session, tools, host; collapsible to icons.
import type { Client } from "../../api/client";
import type { ReportFacts } from "../../api/stored";
import type { RunInfo, RunSummary, ToolInfo } from "../../api/types";
import type { BaseChoice, Reading } from "../../page/page";
import { BasePicker } from "./base_picker";
import { HostPicker } from "./host_picker";
import { Icon } from "../icons";
import { ReadingSwitch } from "./reading_switch";
import { SessionPicker } from "./session_picker";
import { ToolList } from "./tool_list";
import type { Patch } from "../../widgets/content/link";
import { TREND } from "../address/view";
import type { HostSelection } from "../address/view";

interface Props {
  collapsed: boolean;
  capture: boolean;
  runs: readonly RunSummary[];
  run: string | null;
  base: BaseChoice;
  client: Client;
  info: RunInfo | null;
  devices: ReadonlyMap<string, readonly string[]>;
  tool: ToolInfo | null;
  selection: HostSelection;
  reading: Reading;
  /** Whether there is a choice of readings. */
  readings: boolean;
  /** A saved report: one run and one reading; null with a server. */
  report: ReportFacts | null;
  onToggle: () => void;
  onCapture: () => void;
  onRun: (run: string) => void;
  /** The keys of the address that open a tool. */
  toolKeys: (id: string) => Patch;
  onReading: (reading: Reading) => void;
  onHosts: (hosts: string[]) => void;
}

export function Rail(props: Props) {
  const { collapsed, capture, runs, run, info, devices, tool, selection } = props;
  const tools = [...(info?.tools ?? []), ...(runs.length && props.report?.trend !== false ? [TREND] : [])];
  return (
    <aside class={collapsed ? "rail collapsed" : "rail"} aria-label="Session, tool and host">
      <div class="rail-head">
        {capture && !collapsed ? (
          <button type="button" class="button primary capture" onClick={props.onCapture}>
            <Icon name="record" /> CAPTURE PROFILE
          </button>
        ) : null}
        <button
          type="button"
          class="button ghost icon"
          aria-label={collapsed ? "Expand the sidebar" : "Collapse the sidebar"}
          aria-expanded={!collapsed}
          data-tip={collapsed ? "Expand the sidebar" : "Collapse the sidebar"}
          onClick={props.onToggle}
        >
          <Icon name="rail" />
        </button>
        {capture && collapsed ? (
          <button
            type="button"
            class="button primary icon"
            aria-label="Capture profile"
            data-tip="Capture profile"
            onClick={props.onCapture}
          >
            <Icon name="record" />
          </button>
        ) : null}
      </div>
      {collapsed ? null : (
        <section class="rail-part" aria-label="Session">
          <h2>Session</h2>
          <SessionPicker runs={runs} current={run} devices={devices} onChoose={props.onRun} />
          {props.report ? null : <BasePicker base={props.base} run={run} client={props.client} />}
        </section>
      )}
      {collapsed || !tool?.host_names.length ? null : (
        <section class="rail-part rail-host" aria-label="Host">
          <h2>Host</h2>
          <HostPicker tool={tool} host={selection.host} hosts={selection.hosts} onChoose={props.onHosts} />
        </section>
      )}
      {collapsed || !props.readings ? null : (
        <section class="rail-part" aria-label="Step times">
          <h2>Step times</h2>
          <ReadingSwitch reading={props.reading} onChoose={props.onReading} />
        </section>
      )}
      <section class="rail-part rail-tools" aria-label="Tools">
        {collapsed ? null : <h2>Tools</h2>}
        {tools.length ? <ToolList tools={tools} current={tool?.id ?? null} narrow={collapsed} toolKeys={props.toolKeys} /> : null}
      </section>
    </aside>
  );
}
