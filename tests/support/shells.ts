import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "./cli-fixture.ts";
import { installPackages } from "./debian-packages.ts";
import { until } from "./until.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function installShells(): Promise<void> {
  return installPackages({
    purpose: "the tests of completion need bash, zsh and fish",
    packages: [...shells],
    isThere: () => shells.every((shell) => Bun.which(shell) !== null),
  });
}

/** A person at a real shell in a terminal, whose `svc-mgr` is ours and whose completion is switched on. */
export interface ShellAtPrompt extends AsyncDisposable {
  fixture: CliFixture;
  /** Types `line` at an empty prompt and presses Tab `tabs` times; the next call begins anew. */
  tab(line: string, tabs?: number): Promise<void>;
  /** What stands at the prompt, without the prompt. */
  typed(): Promise<string>;
  screen(): Promise<string>;
}

const prompt = "READY>";

const starts: Record<Shell, (script: string) => { command: string[]; rc: string; file: string }> = {
  bash: (script) => ({
    command: ["bash", "--noprofile", "--rcfile", "rc", "-i"],
    file: "rc",
    rc: `PS1='${prompt}'\nbind 'set show-all-if-ambiguous on'\nbind 'set bell-style none'\nsource ${script}\n`,
  }),
  zsh: (script) => ({
    command: ["zsh", "-i"],
    file: ".zshrc",
    rc: `PS1='${prompt}'\nunsetopt beep\nautoload -Uz compinit && compinit -D -u\nsource ${script}\n`,
  }),
  fish: (script) => ({
    command: ["fish", "--no-config", "--init-command", "source $HOME/rc"],
    file: "rc",
    rc: `set -g fish_greeting\nset -g fish_autosuggestion_enabled 0\nfunction fish_prompt; printf '${prompt}'; end\nsource ${script}\n`,
  }),
};

export async function atPrompt(shell: Shell): Promise<ShellAtPrompt> {
  const fixture = createCliFixture();
  const home = join(fixture.folder, "home");
  const bin = join(fixture.folder, "bin");
  mkdirSync(bin);
  const words = fixture.command("svc-mgr").map((word) => `'${word}'`);
  writeFileSync(join(bin, "svc-mgr"), `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  const script = join(fixture.folder, "completion");
  writeFileSync(script, (await fixture.mgr("completion", shell)).stdout);
  const { command, rc, file } = starts[shell](script);
  writeFileSync(join(home, file), rc);
  const env = { ...fixture.env, PATH: `${bin}:${fixture.env["PATH"]}`, ZDOTDIR: home, TERM: "screen" };
  await fixture.startSession("shell", [
    "env",
    "-i",
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    "sh",
    "-c",
    'cd "$HOME" && exec "$@"',
    "sh",
    ...command,
  ]);
  const screen = () => fixture.tmux("capture-pane", "-p", "-J", "-t", "=shell:");
  const at = new RegExp(`^${prompt}(.*)$`);
  const typed = async () => {
    const row = Number(await fixture.tmux("display-message", "-p", "-t", "=shell:", "#{cursor_y}"));
    const lines = (await fixture.tmux("capture-pane", "-p", "-t", "=shell:")).split("\n");
    return at.exec(lines[row] ?? "")?.[1] ?? "";
  };
  await until(`${shell} to be at its prompt`, async () => at.test((await screen()).split("\n")[0] ?? ""));
  return {
    fixture,
    screen,
    typed,
    async tab(line, tabs = 1) {
      // No interrupt: a shell throws away with it what was typed ahead.
      await fixture.tmux("send-keys", "-t", "=shell:", "C-u", "C-l");
      await until("an empty prompt", async () => (await typed()).trim() === "");
      await fixture.tmux("send-keys", "-t", "=shell:", "-l", line);
      await until("the line to be typed", async () => (await typed()).trimEnd() === line.trimEnd());
      for (let left = tabs; left > 0; left--) await fixture.tmux("send-keys", "-t", "=shell:", "Tab");
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}
