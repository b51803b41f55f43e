import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseScreen } from "../../src/services/terminal/screen.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type Moment, type Recording, story } from "./story.ts";

const prompt = "$";

/**
 * Types the story into a shell of a private tmux server and records both screens: the shell's and the
 * agent's. `programs` is the folder with svc-mgr. Everything lies in a temporary folder that is removed;
 * nothing is left running. A moment in which the agent works is left out when it was over before it could be
 * seen.
 */
export async function recordSession(programs: string): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), "svc-record-"));
  const places = { HOME: join(folder, "home"), TMUX_TMPDIR: join(folder, "tmux") };
  const work = join(folder, "work");
  for (const place of [...Object.values(places), work]) mkdirSync(place, { mode: 0o700 });
  const env = {
    ...places,
    PATH: `${programs}:${process.env["PATH"]}`,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    SHELL: "/bin/sh",
    PS1: `${prompt} `,
  };
  const processes = createProcesses({ steps: quietSteps });
  const tmux = async (server: string, ...args: string[]) => {
    const run = await processes.run(["tmux", "-L", server, "-f", "/dev/null", ...args], { env, cwd: work });
    return run.exitCode === 0 ? run.stdout : null;
  };
  const shell = async () => {
    const screen = await tmux("recorder", "capture-pane", "-p", "-e", "-t", "=shell:");
    // It runs with -e: it ends with a command that fails.
    if (screen === null) throw new Error(`the shell has ended, after:\n${moments.at(-1)?.shell ?? ""}`);
    return screen;
  };
  const agent = async () => {
    const panes = (await tmux("default", "list-panes", "-a", "-F", "#{window_name} #{pane_id}")) ?? "";
    const pane = /^agent (%\d+)$/m.exec(panes)?.[1];
    return pane === undefined
      ? null
      : { pane, screen: await tmux("default", "capture-pane", "-p", "-e", "-t", pane) };
  };
  const moments: Moment[] = [];
  const keep = async (kind: Moment["kind"], command: string, seconds: number) => {
    const [left, right] = [await shell(), await agent()];
    moments.push({ kind, command, shell: left, agent: right?.screen ?? "", seconds });
  };

  try {
    const size = ["-x", String(story.columns), "-y", String(story.shellRows)];
    // Without tmux's own variables: the shell is a person's, not a pane.
    const bare = ["env", "-u", "TMUX", "-u", "TMUX_PANE", "TERM=xterm-256color", "sh", "-ei"];
    await tmux("recorder", "new-session", "-d", "-s", "shell", ...size, "--", ...bare);
    await until("the shell's prompt", async () => lastRow(await shell()) === prompt);
    for (const step of story.steps) {
      await tmux("recorder", "send-keys", "-t", "=shell:", "-l", "--", step.command);
      await until("the command", async () => lastRow(await shell()) === `${prompt} ${step.command}`);
      await keep("typed", step.command, 1);
      await tmux("recorder", "send-keys", "-t", "=shell:", "Enter");
      if ("works" in step) {
        await until("the agent at work", async () => {
          if (/Working…/.test((await agent())?.screen ?? "")) await keep("works", step.command, 1);
          return moments.at(-1)?.kind === "works" || lastRow(await shell()) === prompt;
        });
      }
      await until(`the end of ${step.command}`, async () => lastRow(await shell()) === prompt);
      await settle();
      await keep("done", step.command, step.seconds);
    }
    const { columns, shellRows, agentRows } = story;
    return { columns, shell_rows: shellRows, agent_rows: agentRows, moments };
  } finally {
    await processes.run(
      [join(programs, "svc-mgr"), "agents", "single", "--agent-name", story.agentName, "stop"],
      { env },
    );
    for (const server of ["recorder", "default"]) await tmux(server, "kill-server");
    rmSync(folder, { recursive: true, force: true });
  }

  /** The agent's window gets the size of the picture, and its screen is waited for. */
  async function settle(): Promise<void> {
    const found = await agent();
    if (!found) return;
    const size = ["-x", String(story.columns), "-y", String(story.agentRows)];
    await tmux("default", "resize-window", "-t", found.pane, ...size);
    await until("the agent's screen", async () => {
      const rows = parseScreen((await agent())?.screen ?? "").map((row) => row.text.trimEnd());
      // Painted anew, not only wrapped by tmux: its two rules are as wide as the window.
      const rules = rows.filter((row) => /^─+$/.test(row));
      const whole = rules.length === 2 && rules.every((rule) => rule.length === story.columns);
      return whole && !rows.some((row) => row.includes("Working…"));
    });
  }
}

function lastRow(screen: string): string {
  const rows = parseScreen(screen).map((row) => row.text.trimEnd());
  return rows.findLast((row) => row !== "") ?? "";
}

async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`never seen: ${what}`);
    await Bun.sleep(20);
  }
}
