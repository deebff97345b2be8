// A sentence with code between backticks; texts of the plugin's own may have links as in Markdown.

const CODE = /`([^`\n]+)`/g;
/** Code, or a link to an http or https address. */
const CODE_OR_LINK = /`([^`\n]+)`|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;

interface Props {
  text: string;
  /** Links are links: not for sentences with names of the profile, which may have any text. */
  links?: boolean;
}

export function RichText({ text, links = false }: Props) {
  const parts = [];
  let position = 0;
  for (const { 0: whole, 1: code, 2: name, 3: href, index } of text.matchAll(links ? CODE_OR_LINK : CODE)) {
    parts.push(text.slice(position, index));
    parts.push(
      href === undefined ? (
        <code key={index}>{code}</code>
      ) : (
        <a key={index} href={href} target="_blank" rel="noreferrer noopener">
          {name}
        </a>
      ),
    );
    position = index + whole.length;
  }
  return (
    <>
      {parts}
      {text.slice(position)}
    </>
  );
}
