import { lineAt } from "./source-text.ts";
import { matchesInCode, type SourceFile, type Violation } from "./tree.ts";

/** One door: a thing that may be touched only from some paths. */
interface Door {
  name: string;
  /** Who may pass, by path. */
  open: RegExp;
  /** What counts as passing, in code (comments and string contents are blank there). */
  code?: RegExp;
  /** Where a file has this, `code` means something else there. */
  notInFile?: RegExp;
  /** What counts as passing, by module specifier. */
  module?: RegExp;
}

const webOnly = /^src\/(?!routes\/|protocol\/)/;

const doors: Door[] = [
  {
    name: "process.* only in cli and system",
    open: /^src\/(cli|system)\//,
    code: /\bprocess\s*(?:\?\.|\.|\[)|\bBun\.(?:env|argv|main|exit)\b|\bimport\.meta\.env\b/g,
    // A record of some other process may be called `process` too.
    notInFile: /\bprocess\s*(?:: [A-Z]|\)? =>)|\b(?:const|let) process\b/,
    module: /^(node:)?process$/,
  },
  {
    name: "the clock only in system",
    open: /^src\/system\//,
    code: /\bnew Date\b|\bDate\s*[.(]|\bperformance\s*\.|\bBun\.(?:nanoseconds|sleep|sleepSync)\b|\bhrtime\b/g,
  },
  {
    name: "timers only in system",
    open: /^src\/system\//,
    code: /\b(?:set|clear)(?:Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bBun\.cron\b/g,
    module: /^(node:)?timers(\/promises)?$/,
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
    module: /^(node:)?fs(\/promises)?$/,
  },
  {
    name: "processes only in system",
    open: /^src\/system\//,
    code: /\bBun\s*\.\s*(?:spawn|spawnSync|\$)/g,
    module: /^((node:)?child_process|bun)$/,
  },
  { name: "elysia only in routes", open: /^src\/routes\//, module: /^(elysia|@elysiajs)(\/|$)/ },
  {
    name: "the database only in db",
    // locks.ts holds a lock in an empty database; it stores nothing.
    open: /^src\/(db\/|system\/locks\.ts$)/,
    module: /^(drizzle-orm(\/.*)?|bun:sqlite)$/,
  },
  {
    name: "HTTP status numbers only in routes and the endpoints of protocol",
    open: /^src\/(routes\/|protocol\/(?:[a-z]+-)?endpoints\.ts$)/,
    code: /\bstatus(?:Code)?\b\s*(?:[:(=!<>]=*|\?\?)\s*[1-5]\d\d\b|^\s*[1-5]\d\d\s*:/gm,
  },
  {
    name: "only Web-standard APIs in routes and protocol",
    open: webOnly,
    code: /\b(?:Bun|Buffer|Deno)\s*\./g,
  },
  { name: "only Web-standard modules in routes and protocol", open: webOnly, module: /^(bun|node)(:|$)/ },
];

/** Everything that goes through a door it may not use (house 1). */
export function findForcedDoors(files: SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    doors
      .filter((door) => !door.open.test(file.path))
      .flatMap((door) => [
        ...(door.code && !door.notInFile?.test(file.text.code)
          ? matchesInCode(file, door.code, door.name)
          : []),
        ...file.imports
          .filter(({ specifier }) => door.module?.test(specifier))
          .map(({ specifier, line }) => `${file.path}:${line} "${specifier}": ${door.name}`),
      ]),
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

/** tmux is spoken in one place: `services/terminal/tmux*`. */
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

/** State of a module outlives every test and every `stop()`: factories hold state (house 3). */
export function findModuleState(files: SourceFile[]): Violation[] {
  return files.flatMap((file) => matchesInCode(file, /^(?:export )?let\b[^;\n]*/gm, "module state"));
}
