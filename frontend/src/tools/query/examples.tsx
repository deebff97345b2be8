// Queries that answer common questions, as a list to choose from.
import type { QueryExample } from "../../api/query";

interface Props {
  examples: readonly QueryExample[];
  onChoose: (example: QueryExample) => void;
}

export function Examples({ examples, onChoose }: Props) {
  return (
    <ul class="query-examples">
      {examples.map((example) => (
        <li key={example.id}>
          <button type="button" onClick={() => onChoose(example)}>
            <b>{example.title}</b>
            <span class="dim">{example.sentence}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
