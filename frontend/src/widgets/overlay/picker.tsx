// A button that opens a list to choose from, with a search field if the list is long.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../base/format";
import { moveIndex } from "../../base/keys";
import { Popover } from "./popover";
import "./picker.css";

export interface Choice {
  id: string;
  /** Secondary text beside the name. */
  note?: string | undefined;
  /** After the secondary text, not searched. */
  mark?: ComponentChildren;
}

interface Props {
  label: string;
  choices: readonly Choice[];
  value: string | null;
  /** Singular noun of the choices: "module". */
  noun: string;
  onChoose: (id: string) => void;
}

const SEARCH_FROM = 11;
/** More are not rendered, but found by the search. */
const MOST = 200;

export function Picker(props: Props) {
  const { label, value } = props;
  return (
    <span class="pick">
      <span class="pick-label">{label}</span>
      <Popover
        label={
          <>
            <span class="pick-value">{value ?? "-"}</span>
            <span aria-hidden="true">▾</span>
          </>
        }
        {...(value && value.length > 36 ? { title: value } : {})}
        buttonClass="button pick-button"
        boxClass="pick-box"
        popup="listbox"
      >
        {(close) => (
          <PickList
            {...props}
            onChoose={(id) => {
              close();
              props.onChoose(id);
            }}
          />
        )}
      </Popover>
    </span>
  );
}

let lists = 0;

/** The list itself, for popovers with another button. */
export function PickList({ label, choices, value, noun, onChoose }: Props) {
  const [query, setQuery] = useState("");
  const [name] = useState(() => `pick-${++lists}`);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = choices.filter(({ id, note }) => words.every((word) => `${id} ${note ?? ""}`.toLowerCase().includes(word)));
  const shown = matching.slice(0, MOST);
  const [active, setActive] = useState(() =>
    Math.max(
      0,
      choices.findIndex(({ id }) => id === value),
    ),
  );
  const activeIndex = Math.min(active, shown.length - 1);
  const box = useRef<HTMLDivElement>(null);
  const searching = choices.length >= SEARCH_FROM;
  useEffect(() => {
    (searching ? box.current?.querySelector("input") : box.current)?.focus();
  }, []);
  useEffect(() => {
    box.current?.querySelector('[data-active="true"]')?.scrollIntoView?.({ block: "nearest" });
  }, [activeIndex]);
  const onKey = (event: KeyboardEvent): void => {
    const chosen = shown[activeIndex];
    const next =
      event.target instanceof HTMLInputElement && (event.key === "Home" || event.key === "End")
        ? null
        : moveIndex(event.key, activeIndex, shown.length);
    if (event.key === "Enter" && chosen) onChoose(chosen.id);
    else if (next !== null) setActive(next);
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      class="pick-list"
      tabIndex={searching ? -1 : 0}
      role={searching ? undefined : "listbox"}
      aria-label={label}
      aria-activedescendant={searching ? undefined : `${name}-${activeIndex}`}
      onKeyDown={onKey}
    >
      {searching ? (
        <input
          class="field wide"
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={name}
          aria-activedescendant={`${name}-${activeIndex}`}
          placeholder={`Search ${plural(choices.length, noun)}`}
          aria-label={`Search ${noun}`}
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setActive(0);
          }}
        />
      ) : null}
      <ul id={name} role={searching ? "listbox" : "presentation"} aria-label={label}>
        {shown.map(({ id, note, mark }, i) => (
          <li
            key={id}
            id={`${name}-${i}`}
            role="option"
            class="option"
            data-active={i === activeIndex}
            aria-selected={id === value}
            onClick={() => onChoose(id)}
          >
            <span class="option-main">{id}</span>
            {note || mark ? (
              <span class="option-sub number">
                {note}
                {mark}
              </span>
            ) : null}
          </li>
        ))}
      </ul>
      {matching.length > MOST ? <p class="dim">{plural(matching.length - MOST, noun)} more: type to find them.</p> : null}
      {matching.length === 0 ? <p class="dim">No {noun} matches.</p> : null}
    </div>
  );
}
