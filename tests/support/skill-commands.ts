/** Words in capitals stand for what whoever runs the command knows: `REF`, `REQUEST_ID`. */
const placeholder = /\b[A-Z][A-Z_]+\b/g;

/**
 * The shell commands that a skill shows an agent, in the order of the text: each `sh` block as a whole, and
 * each span in backticks that begins with a program of ours and says more than its name.
 */
export function skillCommands(text: string): string[] {
  const pattern = /^( *)```sh\n([\s\S]*?)^\1```$|`(svc-mgr [^`]+)`/gm;
  return [...text.matchAll(pattern)].map(([, indent = "", block, span]) =>
    block === undefined ? (span ?? "") : block.replaceAll(new RegExp(`^${indent}`, "gm"), "").trimEnd(),
  );
}

export function placeholdersOf(command: string): string[] {
  return [...new Set(command.match(placeholder) ?? [])];
}

/** The command with every placeholder replaced. Throws when one has no value. */
export function fillIn(command: string, values: Readonly<Record<string, string>>): string {
  return command.replaceAll(placeholder, (name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${name} is not known in: ${command}`);
    return value;
  });
}
