/** What a YAML text says. Throws when it is none. */
export function parseYaml(text: string): unknown {
  return Bun.YAML.parse(text);
}
