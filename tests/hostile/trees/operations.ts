import type { Area } from "./file-kinds.ts";
import { addresses, agents, type treePaths, turnId } from "./template.ts";
import type { Rng } from "./values.ts";

/** The prompt and the mail body of every command that takes one: no listener but our own may ever see it. */
export const secretPrompt = "secret-prompt-51c0";
/** SVC_GATEWAY_TOKEN and SVC_COORD_TOKEN of the user. */
export const secretToken = "secret-token-77af";

/** How the repository came to be looked at. */
export type Standing =
  /** Cloned a moment ago: nothing of it was ever adopted, and no record of ours names it. */
  | "cloned"
  /**
   * The user adopted its overlay and launched agents in it; then it was changed by a pull, or by an agent.
   */
  | "adopted"
  /** As cloned, and the user names its folders with flags and variables. */
  | "named";

/** One command that a user types in the repository, or one request to a coordination server there. */
export interface Operation {
  area: Area;
  argv: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Path and body of a request instead of a command. */
  request?: { path: string; body?: object };
  /** Prints the bytes of a file as they are. */
  raw?: boolean;
  /** Runs until nobody looks any more. */
  endless?: boolean;
  /** Starts what the user adopted or named: that a planted program runs then is no finding. */
  startsPrograms?: boolean;
}

type Paths = ReturnType<typeof treePaths>;

/** Everything that is done in a tree of this standing. Always in the same order. */
export function listOperations(paths: Paths, standing: Standing): Operation[] {
  const named = standing === "named";
  const mailFlags = named ? ["--mailbox-root", paths.mailbox] : [];
  const rootFlags = named ? ["--runtime-root", paths.runtime] : [];
  const mailbox = (...argv: string[]): Operation => ({
    area: "mail",
    argv: ["mailbox", ...mailFlags, ...argv],
  });
  const of = (area: Area, name: string, ...argv: string[]): Operation => ({
    area,
    argv: [...rootFlags, "agents", "single", "--agent-name", name, ...argv],
  });
  const [worker, batch, editor] = agents;
  const [alice, bob] = addresses;
  const aliceFlag = ["--address", alice];
  const bobFlag = ["--address", bob];
  const operations: Operation[] = [
    mailbox("init"),
    mailbox("status"),
    mailbox("accounts", "list"),
    mailbox("accounts", "get", ...bobFlag),
    mailbox("messages", "list", ...bobFlag),
    mailbox("messages", "get", ...bobFlag, "--message-id", "MESSAGE"),
    mailbox("repair"),
    mailbox("repair", "--remove-staging"),
    mailbox("cleanup", "--yes"),
    mailbox("clear-messages", "--yes"),
    mailbox("messages", "clear", ...bobFlag, "--yes"),
    mailbox("export", "--all-accounts", "--output-dir", `${paths.tree}/exported`),
    mailbox("export", ...aliceFlag, "--output-dir", `${paths.tree}/exported`, "--symlink-mode", "preserve"),
    mailbox("register", ...aliceFlag, "--principal-id", "SVC-other", "--mode", "force", "--yes"),
    mailbox("register", ...aliceFlag, "--principal-id", "SVC-other", "--mode", "stash"),
    mailbox("unregister", ...aliceFlag, "--mode", "purge"),
    {
      area: "mail",
      argv: [
        ...rootFlags,
        "agents",
        "launch",
        "--tool",
        "demo",
        "--agent-name",
        "fresh",
        "--mailbox",
        "--no-gateway",
      ],
    },
    {
      area: "session",
      argv: [
        ...rootFlags,
        "agents",
        "launch",
        "--tool",
        "demo",
        "--agent-name",
        "fresh",
        "--role-file",
        paths.roleFile,
      ],
    },
    { area: "session", argv: [...rootFlags, "agents", "list", "--state", "all"] },
    { area: "coordinator", argv: [...rootFlags, "agents", "watch"], endless: true },
    { area: "any", argv: [...rootFlags, "doctor"] },
    { area: "session", argv: [...rootFlags, "doctor", "--fix"] },
    of("session", worker.name, "state"),
    of("session", worker.name, "gateway", "status"),
    of("session", worker.name, "gateway", "prompt", "--prompt", secretPrompt, "--admission-policy", "always"),
    of("session", worker.name, "prompt", "--prompt", secretPrompt),
    of("session", worker.name, "gateway", "tui", "state"),
    of("session", worker.name, "requests", "list"),
    of("session", worker.name, "mail", "list"),
    of("mail", worker.name, "mail", "send", "--to", bob, "--subject", "x", "--body-content", secretPrompt),
    of("mail", worker.name, "mailbox", "register", ...mailFlags),
    of("mail", worker.name, "mailbox", "status"),
    of("session", worker.name, "gateway", "detach"),
    of("session", worker.name, "stop"),
    { ...of("session", worker.name, "relaunch"), startsPrograms: true },
    of("session", worker.name, "cleanup", "--yes"),
    of("turn", batch.name, "state"),
    of("turn", batch.name, "turn", "status"),
    of("turn", batch.name, "turn", "status", turnId),
    of("turn", batch.name, "turn", "events", turnId),
    { ...of("turn", batch.name, "turn", "stdout", turnId), raw: true },
    { ...of("turn", batch.name, "turn", "stderr", turnId), raw: true },
    of("turn", batch.name, "turn", "submit", "--prompt", secretPrompt),
    of("turn", batch.name, "interrupt"),
    of("turn", batch.name, "stop"),
    { ...of("turn", batch.name, "relaunch"), startsPrograms: true },
    of("turn", batch.name, "cleanup", "--yes"),
    of("turn", editor.name, "state"),
    of("turn", editor.name, "log"),
    of("turn", editor.name, "gateway", "tui", "state"),
    of("turn", editor.name, "turn", "submit", "--prompt", secretPrompt),
    of("turn", editor.name, "interrupt"),
    of("turn", editor.name, "stop"),
    { ...of("turn", editor.name, "relaunch"), startsPrograms: true },
    of("session", worker.name, "log"),
    { area: "skills", argv: ["system-skills", "list", "--tool", "claude"] },
    { area: "skills", argv: ["system-skills", "install", "--tool", "claude"] },
    { area: "skills", argv: ["system-skills", "uninstall", "--tool", "claude"] },
    { area: "any", argv: ["tools", "list"] },
    request("coordinator", "/svc/agents"),
    request("session", `/svc/agents/${worker.id}/state`),
    request("session", `/svc/agents/${worker.id}/state/detail`),
    request("session", `/svc/agents/${worker.id}/requests`, {
      request_kind: "submit_prompt",
      prompt: secretPrompt,
    }),
    request("turn", `/svc/agents/${batch.id}/turns`),
    request("turn", `/svc/agents/${batch.id}/turns/${turnId}/events`),
    request("brain", "/svc/agents/headless/launches", {
      tool: "claude",
      working_directory: paths.tree,
      agent_def_dir: paths.definition,
      brain_manifest_path: paths.brain,
      role_name: "worker",
      agent_name: "thinker",
    }),
  ];
  if (named) {
    const env = { SVC_TOOL_PROFILES: paths.profiles };
    operations.push(
      { area: "profile", argv: ["tools", "list"], env },
      { area: "profile", argv: ["tools", "show", "--tool", "planted"], env },
      { area: "profile", argv: ["doctor"], env, startsPrograms: true },
    );
  }
  return operations;
}

function request(area: Area, path: string, body?: object): Operation {
  return { area, argv: [], request: body === undefined ? { path } : { path, body } };
}

/** Some of all operations: those that read what was planted first. */
export function pickOperations(
  all: readonly Operation[],
  areas: ReadonlySet<Area>,
  counts: { fitting: number; any: number },
  rng: Rng,
): Operation[] {
  const fitting = all.filter(({ area }) => area === "any" || areas.has(area));
  return [
    ...Array.from({ length: counts.fitting }, () => rng.pick(fitting)),
    ...Array.from({ length: counts.any }, () => rng.pick(all)),
  ];
}
