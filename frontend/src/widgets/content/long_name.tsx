/** A name that keeps its end where there is no room for all of it: paths of modules begin alike and differ at the end. */
import "./long_name.css";

const MEMBERS_AT_END = 3;

/** The last members of a path of more members, such as a module, its op and the op's kernel; "" for other names. */
export function endOf(name: string): string {
  const members = name.split("/");
  return members.length > MEMBERS_AT_END + 1 ? `/${members.slice(-MEMBERS_AT_END).join("/")}` : "";
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
