import { type OptionHandler, RootCommand, script } from "@bomb.sh/tab";
import { type CliIo, type Command, type Flag, type Flags, UsageError } from "./command.ts";
import { childrenOf, everywhere, type Station, toStation } from "./parse.ts";

const shells = ["bash", "zsh", "fish"];

/**
 * `complete bash|zsh|fish` prints the script for that shell; `complete -- WORDS` is what such a script calls:
 * commands, the flags of the command and of its groups, and the words of flags with a closed set of values.
 */
export async function complete(root: Command, argv: readonly string[], io: CliIo): Promise<number> {
  const station = await toStation("", root);
  const [first] = argv;
  if (first === "--") {
    const known = new RootCommand();
    addFlags(known, { ...everywhere, ...station.flags });
    await addChildren(known, root, "", { ...everywhere, ...station.flags });
    known.parse(argv.slice(1));
    return 0;
  }
  if (first === undefined || !shells.includes(first)) {
    throw new UsageError(`complete needs a shell: ${shells.join(", ")}`);
  }
  if (io.stdoutIsTty) await io.writeError(installHint(first, station.meta.name));
  script(first, station.meta.name, station.meta.name);
  return 0;
}

function installHint(shell: string, program: string): string {
  return shell === "fish"
    ? `# ${program} complete fish > ~/.config/fish/completions/${program}.fish\n`
    : `# to use it: source <(${program} complete ${shell})\n`;
}

async function addChildren(known: RootCommand, parent: Command, prefix: string, above: Flags): Promise<void> {
  for (const child of await childrenOf(parent)) {
    if (child.meta.hidden) continue;
    const path = prefix === "" ? child.word : `${prefix} ${child.word}`;
    const flags = { ...above, ...child.flags };
    addFlags(known.command(path, child.meta.description), flags);
    await addChildren(known, child.command, path, flags);
  }
}

function addFlags(target: ReturnType<RootCommand["command"]>, flags: Station["flags"]): void {
  for (const [name, flag] of Object.entries(flags)) {
    if (flag.type === "positional" || flag.hidden) continue;
    if (flag.type !== "boolean") target.option(name, flag.description, valuesOf(flag), flag.alias);
    else if (flag.alias) target.option(name, flag.description, flag.alias);
    else target.option(name, flag.description);
  }
}

function valuesOf(flag: Flag): OptionHandler {
  return (add) => {
    if (flag.type === "enum") for (const option of flag.options) add(option, flag.description);
  };
}
