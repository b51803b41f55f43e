import { join } from "node:path";
import type { CliFixture } from "./cli-fixture.ts";
import { until } from "./until.ts";

/** A terminal in which a person types, with a shell: a pane of another tmux server than the agents'. */
export interface PersonPane extends AsyncDisposable {
  /** What it shows, without styles. */
  screen(): Promise<string>;
  /** The same with its styles. */
  styled(): Promise<string>;
  /** Keys by tmux's names; any other word is typed as it is. */
  type(...keys: string[]): Promise<void>;
  /** A line of the shell, and Enter. */
  enter(line: string): Promise<void>;
  /** A bracketed paste, as of a terminal's menu. */
  paste(text: string): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** Modes of the terminal that programs change. */
  modes(): Promise<string>;
  /** Resolves when the screen fits; returns it. */
  untilShows(what: string | RegExp): Promise<string>;
}

export async function openPersonPane(
  fixture: CliFixture,
  {
    columns = 100,
    rows = 24,
    env = {},
  }: { columns?: number; rows?: number; env?: Record<string, string> } = {},
): Promise<PersonPane> {
  const socket = join(fixture.folder, "person");
  const tmux = async (...args: string[]) => {
    const child = Bun.spawn(["tmux", "-S", socket, "-f", "/dev/null", ...args], {
      env: { ...fixture.env, PS1: "$ ", ...env },
      cwd: fixture.workdir,
      stdio: ["ignore", "pipe", "inherit"],
    });
    return (await new Response(child.stdout).text()).trimEnd();
  };
  await tmux("new-session", "-d", "-s", "me", "-x", String(columns), "-y", String(rows), "sh");
  const pane: PersonPane = {
    screen: () => tmux("capture-pane", "-p", "-t", "me"),
    styled: () => tmux("capture-pane", "-p", "-e", "-t", "me"),
    type: async (...keys) => void (await tmux("send-keys", "-t", "me", ...keys)),
    enter: async (line) => {
      await tmux("send-keys", "-t", "me", "-l", line);
      await pane.type("Enter");
    },
    async paste(text) {
      await tmux("set-buffer", "-b", "pasted", text);
      await tmux("paste-buffer", "-p", "-b", "pasted", "-t", "me");
    },
    resize: async (width, height) =>
      void (await tmux("resize-window", "-t", "me", "-x", String(width), "-y", String(height))),
    modes: () =>
      tmux("display-message", "-p", "-t", "me", "#{alternate_on} #{cursor_flag} #{wrap_flag} #{insert_flag}"),
    untilShows: (what) =>
      until(`the screen: ${what}`, async () => {
        const text = await pane.screen();
        return (typeof what === "string" ? text.includes(what) : what.test(text)) ? text : null;
      }),
    async [Symbol.asyncDispose]() {
      await tmux("kill-server");
    },
  };
  await pane.untilShows("$");
  return pane;
}
