// What the backend noted on a custom call: the text of its kernel, or the configuration; read when it is opened.
import { useState } from "preact/hooks";
import type { Client, Params } from "../../api/client";
import { useLoad } from "../../widgets/status/use_load";

interface Props {
  client: Client;
  /** Of requests about this module. */
  params: Params;
  name: string;
}

export function Kernel({ client, params, name }: Props) {
  const [open, setOpen] = useState(false);
  const asked = { ...params, type: "custom_call", node_name: name };
  return (
    <>
      <dt>Kernel</dt>
      <dd>
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Program or configuration</summary>
          {open ? <Text client={client} asked={asked} /> : null}
        </details>
        <a class="link" href={client.url("page", asked)} target="_blank" rel="noreferrer">
          Open in a tab
        </a>
      </dd>
    </>
  );
}

function Text({ client, asked }: { client: Client; asked: Params }) {
  const answer = useLoad(JSON.stringify(asked), (signal) => client.text("page", asked, { signal }));
  if (answer.error) return <p class="dim">The compiler left no configuration on this call.</p>;
  return answer.data === null ? (
    <p class="dim">Reading the kernel…</p>
  ) : (
    <pre class="kernel-text mono" ref={(one) => one?.scrollIntoView?.({ block: "nearest" })}>
      {answer.data}
    </pre>
  );
}
