/** One setting of git, as `git config --list --show-scope -z` has it. */
interface Setting {
  scope: string;
  key: string;
  value: string;
}

/** The settings in the order in which git reads them. Pure. */
function readSettings(listed: string): Setting[] {
  const parts = listed.split("\0");
  return parts.flatMap((scope, index) => {
    if (index % 2 === 1) return [];
    const entry = parts[index + 1];
    if (entry === undefined) return [];
    const end = entry.indexOf("\n");
    const [key, value] = end < 0 ? [entry, ""] : [entry.slice(0, end), entry.slice(end + 1)];
    return [{ scope, key, value }];
  });
}

/**
 * What of a repository's configuration git, or a filter of the user's own such as git-lfs, takes for a
 * program.
 */
const programs = [
  /^filter\..*\.(?:smudge|clean|process|required)$/,
  /^hook\./,
  /^core\.(?:sshcommand|askpass|editor|pager|gitproxy|alternaterefscommand|fsmonitor|hookspath)$/,
  /^credential\.(?:.*\.)?helper$/,
  /^diff\.(?:external|.*\.(?:command|textconv))$/,
  /^merge\..*\.driver$/,
  /^gpg\.(?:.*\.)?(?:program|defaultkeycommand)$/,
  /^lfs\.(?:.*\.)?(?:standalonetransferagent|customtransfer\..*|extension\..*)$/,
  /^remote\..*\.(?:uploadpack|receivepack|vcs)$/,
  /^(?:submodule\..*\.update|sequence\.editor|uploadpack\.packobjectshook)$/,
];

/**
 * The settings with which git runs no program that the repository's configuration names, in the order in
 * which they count: an empty one, then the values that the user's own configuration has. `listed`: the output
 * of `git config --list --show-scope -z` where the command is to run. Pure.
 */
export function withoutForeignPrograms(listed: string): { key: string; value: string }[] {
  const settings = readSettings(listed);
  const isForeign = ({ scope }: Setting) => scope === "local" || scope === "worktree";
  const foreign = settings.filter((one) => isForeign(one) && programs.some((form) => form.test(one.key)));
  return [...new Set(foreign.map(({ key }) => key))].flatMap((key) => {
    const own = settings.filter((one) => one.key === key && !isForeign(one));
    // An empty value also ends what a list such as credential.helper had before.
    return [{ key, value: "" }, ...own.map(({ value }) => ({ key, value }))];
  });
}

/** Whether git took a setting from its environment, which older versions ignore. Pure. */
export function tookFromEnvironment(listed: string, key: string): boolean {
  return readSettings(listed).some((one) => one.scope === "command" && one.key === key);
}
