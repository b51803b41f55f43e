/** Of YAML no more than our own message files have: `key: JSON`, or lines of `  - JSON` below the key. */
export function parseYaml(text: string): unknown {
  const fields: Record<string, unknown> = {};
  for (const [, key = "", inline, items = ""] of text.matchAll(/^(\w+):(?: (.*)|((?:\n {2}- .*)+))$/gm)) {
    const parts = items.split("\n  - ").slice(1);
    fields[key] = inline === undefined ? parts.map((item) => JSON.parse(item)) : JSON.parse(inline);
  }
  return fields;
}
