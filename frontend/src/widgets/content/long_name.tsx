/** A name that keeps its end where there is no room for all of it: paths of modules begin alike and differ at the end. */
import "./long_name.css";

const MOST_OF_END = 24;

/** The part of a path that is always shown: its last members, as far as there is room for them; "" for other names. */
export function endOf(name: string): string {
  const end = name.slice(-MOST_OF_END);
  return name.length > MOST_OF_END && end.includes("/") ? end.slice(end.indexOf("/")) : "";
}

/** The name in bold type's element, as rows of trees show it; its text is the whole name. */
export function LongName({ name }: { name: string }) {
  const end = endOf(name);
  if (end === "") return <b>{name}</b>;
  return (
    <b class="long-name">
      <span>{name.slice(0, -end.length)}</span>
      <span>{end}</span>
    </b>
  );
}
