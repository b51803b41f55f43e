import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Block, type Inline, parseMarkdown } from "../state/markdown.ts";

/** Markdown that others wrote, as elements. No text of theirs becomes HTML. */
export function Prose({ text }: { text: string }) {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return <div class="prose">{blocks.map((block, index) => show(block, index))}</div>;
}

function show(block: Block, key: number) {
  switch (block.kind) {
    case "paragraph":
      return <p key={key}>{inlines(block.content)}</p>;
    case "heading":
      return (
        <p key={key} class={`heading level-${Math.min(block.level, 4)}`}>
          {inlines(block.content)}
        </p>
      );
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre key={key} tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case "quote":
      return <blockquote key={key}>{block.blocks.map((inner, index) => show(inner, index))}</blockquote>;
    case "list": {
      const items = block.items.map((item, index) => <li key={index}>{inlines(item)}</li>);
      return block.ordered ? (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      ) : (
        <ul key={key}>{items}</ul>
      );
    }
    case "table":
      return (
        <table key={key}>
          <thead>
            <tr>
              {block.head.map((cell, index) => (
                <th key={index}>{inlines(cell)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {block.rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, index) => (
                  <td key={index}>{inlines(cell)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    case "rule":
      return <hr key={key} />;
  }
}

const inlines = (content: Inline[]): ComponentChildren => content.map(inline);

function inline(part: Inline, key: number): ComponentChildren {
  switch (part.kind) {
    case "text":
      return part.text;
    case "code":
      return <code key={key}>{part.text}</code>;
    case "strong":
      return <strong key={key}>{inlines(part.content)}</strong>;
    case "emphasis":
      return <em key={key}>{inlines(part.content)}</em>;
    case "link":
      return (
        <a key={key} href={part.href} target="_blank" rel="noopener noreferrer">
          {inlines(part.content)}
        </a>
      );
  }
}
