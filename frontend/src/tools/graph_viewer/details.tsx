// Properties of the selected instruction or computation, its times, its source, and links to related ones.
import { plural } from "../../base/format";
import type { Client, Params } from "../../api/client";
import { InEditor } from "../../widgets/content/in_editor";
import { Kernel } from "./kernel";
import type { ShownInstruction } from "./graph/drawing";
import type { HloText } from "./text/hlo_text";
import { timeLines } from "./times";
import type { ModuleTimes } from "./times";

const MOST = 12;

interface LinksProps {
  name: string;
  none: string;
  targets: readonly string[];
  onGo: (name: string) => void;
}

function Links({ name, none, targets, onGo }: LinksProps) {
  const shown = targets.slice(0, MOST);
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {shown.map((target, i) => (
          <span key={i}>
            {i ? ", " : ""}
            <button type="button" class="link mono" onClick={() => onGo(target)}>
              {target}
            </button>
          </span>
        ))}
        {targets.length > MOST ? ` and ${targets.length - MOST} more` : ""}
        {targets.length === 0 ? <span class="dim">{none}</span> : null}
      </dd>
    </>
  );
}

interface Props {
  hlo: HloText;
  instruction: number;
  computation: number;
  /** What the drawing knows of it. */
  facts: ShownInstruction | null;
  times: ModuleTimes | null;
  /** For the kernel of a custom call: the server, and the parameters of requests about this module. */
  client: Client;
  params: Params;
  onGo: (name: string) => void;
}

/** Framework op and place in the program's source. */
function Origin({ facts }: { facts: ShownInstruction }) {
  return (
    <>
      {facts.op_name ? (
        <>
          <dt>Framework op</dt>
          <dd class="mono">{facts.op_name}</dd>
        </>
      ) : null}
      {facts.source ? (
        <>
          <dt>Source</dt>
          <dd class="mono">
            {facts.stack.length > 1 ? (
              <details>
                <summary>{facts.source}</summary>
                {facts.stack.map((frame, i) => (
                  <div key={i}>{frame}</div>
                ))}
              </details>
            ) : (
              facts.source
            )}
            <InEditor place={facts.source} />
          </dd>
        </>
      ) : null}
    </>
  );
}

export function Details({ hlo, instruction, computation, facts, times, client, params, onGo }: Props) {
  const names = (list: readonly number[]): string[] => list.map((i) => hlo.instructions[i]?.name ?? "");
  const selectedInstruction = hlo.instructions[instruction];
  if (selectedInstruction) {
    const home = hlo.computations[selectedInstruction.computation];
    const measured = times?.byName.get(selectedInstruction.name);
    return (
      <dl class="property-list">
        <dt>Opcode</dt>
        <dd class="mono">{selectedInstruction.opcode}</dd>
        <dt>Shape</dt>
        <dd class="mono">{selectedInstruction.shape}</dd>
        {times && measured
          ? timeLines(times, measured).map(([label, value]) => (
              <>
                <dt key={label}>{label}</dt>
                <dd>{value}</dd>
              </>
            ))
          : null}
        {facts ? <Origin facts={facts} /> : null}
        {selectedInstruction.opcode === "custom-call" ? (
          <Kernel key={selectedInstruction.name} client={client} params={params} name={selectedInstruction.name} />
        ) : null}
        <Links name="Operands" none="none" targets={names(selectedInstruction.operands)} onGo={onGo} />
        <Links
          name="Used by"
          none={selectedInstruction.root ? "none: it is the result of its computation" : "none"}
          targets={names(selectedInstruction.users)}
          onGo={onGo}
        />
        {selectedInstruction.calls.length ? (
          <Links name="Calls" none="" targets={selectedInstruction.calls.map((i) => hlo.computations[i]?.name ?? "")} onGo={onGo} />
        ) : null}
        <Links name="Computation" none="none" targets={home ? [home.name] : []} onGo={onGo} />
        {facts ? (
          <>
            <dt>Text</dt>
            <dd class="mono">{facts.text}</dd>
          </>
        ) : null}
      </dl>
    );
  }
  const home = hlo.computations[computation];
  if (!home) return null;
  const root = home.instructions.filter((i) => hlo.instructions[i]?.root);
  return (
    <dl class="property-list">
      <dt>Kind</dt>
      <dd>
        {home.entry ? "entry computation of the module" : "computation"}, {plural(home.instructions.length, "instruction")}
      </dd>
      <Links name="Result" none="not marked" targets={names(root)} onGo={onGo} />
      <Links
        name="Called by"
        none={home.entry ? "none: it is the entry of the program" : "none"}
        targets={names(home.callers)}
        onGo={onGo}
      />
    </dl>
  );
}
