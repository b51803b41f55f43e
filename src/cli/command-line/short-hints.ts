import type { CliIo } from "./command.ts";

/** The same terminal, at which commands of `svc-mgr` are named as `svc` has them. */
export function withShortHints(io: CliIo, { stdout }: { stdout: boolean }): CliIo {
  const short: Partial<CliIo> = {
    writeError: (text) => io.writeError(toShortHints(text)),
    writeOut: (text) => io.writeOut(stdout && typeof text === "string" ? toShortHints(text) : text),
    writeScreen: (stream, text) =>
      io.writeScreen(stream, stream === "stderr" || stdout ? toShortHints(text) : text),
  };
  return Object.assign(Object.create(io) as CliIo, short);
}

/**
 * Command lines of `svc-mgr` in a text for people, as `svc` has them. What has flags that `svc` lacks stays
 * as it is. Pure.
 */
export function toShortHints(text: string): string {
  return hints.reduce((shown, [long, short]) => shown.replace(long, short), text);
}

const one = "svc-mgr agents single --agent-name ([A-Za-z0-9_-]+) ";
/** No further word of the command follows. */
const end = String.raw`(?![\w-])(?! --)`;

const hints: readonly (readonly [RegExp, string])[] = [
  [/svc-mgr agents launch --tool (\w+) --agent-name ([\w-]+)(?![\w-])(?! --)/g, "svc new $2 $1"],
  [new RegExp(`${one}prompt --prompt`, "g"), "svc ask $1"],
  [new RegExp(`${one}gateway attach(?: --reconcile)?${end}`, "g"), "svc fix $1"],
  [new RegExp(`${one}gateway reconcile${end}`, "g"), "svc fix $1"],
  [new RegExp(`${one}relaunch${end}`, "g"), "svc restart $1"],
  [new RegExp(`${one}interrupt${end}`, "g"), "svc int $1"],
  [new RegExp(`${one}log --follow${end}`, "g"), "svc log $1 -f"],
  [new RegExp(`${one}(attach|stop|screen|log|last)${end}`, "g"), "svc $2 $1"],
  [new RegExp(`${one}gateway tui decide --option`, "g"), "svc ok $1"],
  [new RegExp(`svc-mgr agents list${end}`, "g"), "svc ls"],
  [/svc-mgr agents list --state all\b/g, "svc agents list --state all"],
  [/give it with --prompt or on standard input/g, "give it as words or on standard input"],
  // What `svc` runs as it is. Its own `mail` is another command.
  [/svc-mgr (attention|backup|budget|doctor|ledger|mailbox|overlay|system-skills|team|tools)\b/g, "svc $1"],
  // Where the help of a command is.
  [/svc-mgr agents single (record|replay|why)(?= --help)/g, "svc $1"],
];
