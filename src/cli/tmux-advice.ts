/** Oldest tmux whose commands and formats we rely on. */
const oldest = { major: 3, minor: 2 };

export interface TmuxAdvice {
  verdict: "ok" | "missing";
  detail: string;
  remedy: string | null;
}

/** Package managers in the order they are looked for, with the command that brings tmux. */
const installers: readonly (readonly [string, string])[] = [
  ["apt-get", "sudo apt-get install tmux"],
  ["dnf", "sudo dnf install tmux"],
  ["pacman", "sudo pacman -S tmux"],
  ["apk", "sudo apk add tmux"],
  ["zypper", "sudo zypper install tmux"],
  ["brew", "brew install tmux"],
];

/** What `version` of tmux (null: none) means and how to get one. `isThere` tells of a program on PATH. Pure. */
export function tmuxAdvice(version: string | null, isThere: (program: string) => boolean): TmuxAdvice {
  const install = installers.find(([program]) => isThere(program))?.[1] ?? "install tmux 3.2 or later";
  if (version === null) return { verdict: "missing", detail: "tmux is not installed", remedy: install };
  const match = /(\d+)\.(\d+)/.exec(version);
  const [major, minor] = [Number(match?.[1]), Number(match?.[2])];
  // A development build such as `master` has no number and is newer than any release.
  const recent = !match || major > oldest.major || (major === oldest.major && minor >= oldest.minor);
  if (recent) return { verdict: "ok", detail: version, remedy: null };
  return { verdict: "missing", detail: `${version} is too old; 3.2 or later is needed`, remedy: install };
}
