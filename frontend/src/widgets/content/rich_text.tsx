// A sentence of the server with its links; other markup is dropped, except for line breaks.
import { segments } from "../../base/markup";

export function RichText({ html }: { html: string }) {
  return (
    <>
      {segments(html).map(({ text, href }, i) =>
        href === null ? (
          text
        ) : (
          <a key={i} href={href} target="_blank" rel="noreferrer noopener">
            {text}
          </a>
        ),
      )}
    </>
  );
}
