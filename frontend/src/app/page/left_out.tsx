// The banner above a page whose data lacks some of the hosts.
import { plural } from "../../base/format";
import { Icon } from "../icons";
import type { LeftOut } from "./tracking";

interface Props {
  leftOut: LeftOut;
  /** Number of hosts that were requested. */
  of: number;
}

export function LeftOutBanner({ leftOut, of }: Props) {
  const { count, hosts } = leftOut;
  const rest = count - hosts.length;
  return (
    <div class="problems" role="status" data-left-out={count}>
      <Icon name="warn" />
      <details>
        <summary>
          {`This page lacks ${count === 1 ? `host ${hosts[0]?.host ?? ""}` : `${count} hosts`}` +
            `${of >= count ? ` of ${plural(of, "host")}` : ""}; it shows the others.`}
        </summary>
        <ul>
          {hosts.map(({ host, message }) => (
            <li key={host}>
              <code>{host}</code>: {message}
            </li>
          ))}
          {rest > 0 ? <li>{`and ${plural(rest, "more host")}`}</li> : null}
        </ul>
      </details>
    </div>
  );
}
