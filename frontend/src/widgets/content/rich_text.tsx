// A sentence of the server with its links, and code between backticks; other markup is dropped, except for line breaks.
import { segments } from "../../base/markup";

/** Every other part is code. */
const withCode = (text: string) => text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part));

export function RichText({ html }: { html: string }) {
  return (
    <>
      {segments(html).map(({ text, href }, i) =>
        href === null ? (
          withCode(text)
        ) : (
          <a key={i} href={href} target="_blank" rel="noreferrer noopener">
            {text}
          </a>
        ),
      )}
    </>
  );
}
