/** Parses a YAML text. Throws for invalid text. */
export function parseYaml(text: string): unknown {
  return Bun.YAML.parse(text);
}
