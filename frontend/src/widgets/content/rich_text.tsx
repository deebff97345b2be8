// A sentence of the server with code between backticks and links as in Markdown.

/** A link to an http or https address, or code. */
const MARKED = /\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|`([^`\n]+)`/g;

export function RichText({ text }: { text: string }) {
  const parts = [];
  let position = 0;
  for (const { 0: whole, 1: name, 2: href, 3: code, index } of text.matchAll(MARKED)) {
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
