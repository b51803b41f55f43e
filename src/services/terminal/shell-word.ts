/** One word of a POSIX shell command, exactly. Pure. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same for people to read: bare where no shell would see more in it than the word. Pure. */
export function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : quoteShell(text);
}
