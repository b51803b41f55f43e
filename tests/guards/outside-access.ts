import { lineAt } from "./source-text.ts";
import { matchesInCode, type SourceFile, type Violation } from "./tree.ts";

/** A part of the outside world that only some paths reach, where the linter cannot say so. */
interface Access {
  name: string;
  /** Paths that reach it. */
  open: RegExp;
  /** Code that reaches it; comments and the inside of strings are blank. */
  code: RegExp;
}

// Globals and modules as a whole are restricted in biome.json.
const accesses: Access[] = [
  {
    name: "the program's arguments and environment only in cli and system",
    open: /^src\/(cli|system)\//,
    code: /\bBun\.(?:env|argv|main|exit)\b|\bimport\.meta\.env\b/g,
  },
  {
    name: "the clock and timers only in system",
    open: /^src\/system\//,
    code: /\bBun\.(?:nanoseconds|sleep|sleepSync|cron)\b|\bhrtime\b|\bAbortSignal\.timeout\b/g,
  },
  {
    name: "randomness only in system",
    open: /^src\/system\//,
    code: /\bMath\.random\b|\b(?:randomUUID(?:v[57])?|getRandomValues|randomBytes|randomInt)\b/g,
  },
  {
    name: "the file system only in system",
    open: /^src\/system\//,
    code: /\bBun\.(?:file|write|Glob|mmap)\b/g,
  },
  {
    name: "processes only in system",
    open: /^src\/system\//,
    code: /\bBun\s*\.\s*(?:spawn|spawnSync|\$)/g,
  },
  {
    name: "HTTP status numbers only in routes, protocol and the client of the console",
    open: /^src\/(routes\/|protocol\/|console\/client\/api\.ts$)/,
    code: /\bstatus(?:Code)?\b\s*(?:[:(=!<>]=*|\?\?)\s*[1-5]\d\d\b|^\s*[1-5]\d\d\s*:/gm,
  },
];

/** Code that reaches the outside world from another place than the one for it (architecture, section 1). */
export function findOutsideAccess(files: SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    accesses
      .filter(({ open }) => !open.test(file.path))
      .flatMap(({ code, name }) => matchesInCode(file, code, name)),
  );
}

const tmuxCommands =
  "(?:capture-pane|paste-buffer|load-buffer|set-buffer|delete-buffer|show-buffer|new-session|kill-session|" +
  "kill-server|kill-pane|kill-window|list-panes|list-sessions|list-windows|list-clients|display-message|" +
  "has-session|new-window|respawn-pane|refresh-client|set-option|set-window-option|show-options|attach-session|" +
  "show-environment|set-environment|pipe-pane|resize-window|resize-pane|split-window|link-window|" +
  "rename-window|select-window|start-server)";
// `send-keys` alone is a word of the contract; with a flag it is tmux's.
const tmuxText = new RegExp(`^(?:${tmuxCommands}(?: |$)|send-keys -)`);

/** Commands of tmux are in `services/terminal/tmux*` only. */
export function findTmuxArguments(files: SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    if (/^src\/services\/terminal\/tmux/.test(file.path)) return [];
    return file.text.literals
      .filter(({ text, start }) => {
        const asCommand = text === "tmux" && /\[\s*["'`]$/.test(file.text.code.slice(0, start));
        return asCommand || tmuxText.test(text);
      })
      .map(({ text, start }) => `${file.path}:${lineAt(file.source, start)} "${text}": tmux arguments`);
  });
}

/** State of a module outlives every test and every `stop()`: factories hold state. */
export function findModuleState(files: SourceFile[]): Violation[] {
  return files.flatMap((file) => matchesInCode(file, /^(?:export )?let\b[^;\n]*/gm, "module state"));
}
