// The bar above the page: breadcrumbs, and buttons for reload, theme, link and help.
import { CopyButton } from "../../widgets/content/copy_button";
import { Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { Icon } from "../icons";
import { nextChoice } from "../theme/theme";
import type { ThemeChoice } from "../theme/theme";

const THEME_LABELS: Readonly<Record<ThemeChoice, string>> = {
  auto: "Theme: automatic (follows TensorBoard or the system)",
  light: "Theme: light",
  dark: "Theme: dark",
};

export interface Crumb {
  text: string;
  /** The keys of the address that open it; not for what is only named. */
  to?: Patch;
  /** The name of the page: its heading. */
  page?: boolean;
}

interface Props {
  crumbs: readonly Crumb[];
  busy: boolean;
  theme: ThemeChoice;
  address: () => string;
  onTheme: (choice: ThemeChoice) => void;
  /** Absent in a saved report, which does not change. */
  onReload?: () => void;
  /** The address of a report of this run; null or absent without one. */
  report?: string | null;
  onHelp: () => void;
}

export function TopBar({ crumbs, busy, theme, address, onTheme, onReload, report = null, onHelp }: Props) {
  return (
    <header class="top">
      <nav class="crumbs" aria-label="Breadcrumbs">
        <ol>
          {crumbs.map(({ text, to, page }, i) => {
            const tip = text.length > 32 ? text : undefined;
            const crumb = to ? (
              <Link to={to} class="crumb" data-tip={tip}>
                {text}
              </Link>
            ) : (
              <span data-tip={tip}>{text}</span>
            );
            return (
              <li key={i} aria-current={i === crumbs.length - 1 ? "location" : undefined}>
                {page ? <h1>{crumb}</h1> : crumb}
              </li>
            );
          })}
        </ol>
      </nav>
      <div class="top-tools">
        {onReload ? (
          <button
            type="button"
            class="button ghost icon"
            aria-label="Reload"
            aria-busy={busy}
            data-tip="Search for new sessions and reload this page"
            onClick={onReload}
          >
            <Icon name="reload" />
          </button>
        ) : null}
        <button
          type="button"
          class="button ghost icon"
          aria-label={THEME_LABELS[theme]}
          data-tip={THEME_LABELS[theme]}
          onClick={() => onTheme(nextChoice(theme))}
        >
          <Icon name={theme} />
        </button>
        <CopyButton text={address} label="Copy link" title="Copy the address of this view" class="ghost" />
        {report === null ? null : (
          <a class="button ghost" href={report} download data-tip="One HTML file with this run, which opens without a server">
            Save report
          </a>
        )}
        <button type="button" class="button ghost icon" aria-label="Help" data-tip="Help" onClick={onHelp}>
          <Icon name="help" />
        </button>
      </div>
    </header>
  );
}
