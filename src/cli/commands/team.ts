import { basename, dirname, join, resolve } from "node:path";
import type { TeamLaunch, TeamRecord } from "../../protocol/team-file.ts";
import { personRole } from "../../services/mail/address.ts";
import { openRecordOrNull } from "../../services/sessions/find.ts";
import { nameProblem } from "../../services/sessions/names.ts";
import { stateRootOf, worktreesRootOf } from "../../services/sessions/roots.ts";
import { type LaunchDetails, toLaunchDetails } from "../../services/team/launch-details.ts";
import {
  ownAgents,
  planDown,
  planTeam,
  type RunningAgent,
  type TeamFacts,
  type TeamStep,
  unfinished,
} from "../../services/team/plan.ts";
import { launchWords, remindersOf } from "../../services/team/team-file.ts";
import { createTeamStore, prefixedName, teamFolder } from "../../services/team/team-store.ts";
import { createWorktrees } from "../../services/team/worktrees.ts";
import { childPath } from "../../system/contained-path.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import { openCliContext } from "../cli-context.ts";
import { type CliIo, type Command, command, type Invocation, UsageError } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { CommandFailure, exitCodes, runProgram } from "../dispatch.ts";
import { narrate } from "../narrate.ts";
import { rootFlags, teamFileFlag } from "../shared-flags.ts";
import { findTeamFile, readEnvironment, readRole, readTeam } from "../team-files.ts";
import { describeStep, type PlanContext, renderPlan } from "../team-plan-text.ts";
import { interruptedSteps, performSteps, type TeamFailure } from "../team-steps.ts";
import { programVersion } from "../version.ts";

const up = ({ program, commands }: TeamProgram) =>
  command({
    name: "up",
    description: "make the agents and mailboxes be as svc.yaml says: shows a plan, changes only what differs",
    examples: [
      `${program} up`,
      `${program} up --plan`,
      `${program} up --yes --json`,
      `${program} up --prefix second`,
    ],
    args: {
      ...teamFileFlag,
      plan: { type: "boolean", description: "show what would be done and change nothing" },
      restart: { type: "boolean", description: "end the turn of an agent that differs and start it again" },
      prune: { type: "boolean", description: "stop agents of an earlier `up` that the file has no more" },
      prefix: {
        type: "string",
        valueHint: "NAME",
        description:
          "call each agent NAME-AGENT, so that two projects can have agents of one name; kept for this file",
      },
      yes: { type: "boolean", alias: "y", description: "do not ask at the terminal" },
    },
    async run(invocation) {
      const { args, io } = invocation;
      const team = await openTeam(invocation, { file: args.file, prefix: args.prefix, program, commands });
      const facts = await team.facts();
      if (args.prefix !== undefined) refuseOtherPrefix(facts, program);
      const steps = planTeam({ ...facts, restart: args.restart, prune: args.prune });
      const text = renderPlan(steps, team.shown);
      const json = { file: team.path, prefix: team.shown.prefix, plan: steps };
      const clashes = steps.filter(({ step }) => step === "clash");
      if (args.plan) return { json, text, exitCode: clashes.length > 0 ? exitCodes.refused : exitCodes.done };
      if (clashes.length > 0) {
        const lines = clashes.map((step) => describeStep(step, team.shown));
        const detail = [`${visibleLine(team.path)} changes nothing: a name is taken`, ...lines].join("\n");
        throw new CommandFailure(exitCodes.refused, detail, { error: "conflict", detail, ...json });
      }
      const changes = steps.filter(({ step }) => step !== "keep" && step !== "leave");
      const isAsked = changes.length > 0 && !args.yes;
      if (isAsked) {
        await io.writeError(`${text}\n`);
        await confirmed(io, "Do this?", false);
      }
      const signal = io.interrupted();
      if (args.prefix !== undefined) team.keepPrefix();
      const performed = await performSteps(changes, team.perform, signal);
      const { failures } = performed;
      if (signal.aborted) throw interruptedSteps(performed, team.describe, `${program} up`, json);
      const failed = failures.map(({ step, detail }) => `failed: ${team.describe(step)}: ${detail}`);
      return {
        json: { ...json, failures },
        text: [...(isAsked ? steps.map(team.describe) : [text]), ...failed].join("\n"),
        exitCode: failures.length > 0 ? exitCodes.refused : exitCodes.done,
      };
    },
  });

/** The names of agents that run do not change. */
function refuseOtherPrefix(facts: Pick<TeamFacts, "file" | "running" | "prefix">, program: string): void {
  const former = ownAgents(facts).find(({ name, member }) => name !== prefixedName(facts.prefix, member));
  if (!former) return;
  throw new ServiceError(
    "conflict",
    `"${former.name}" runs under its former name: end the agents of this file before they get another prefix, with ${program} down`,
  );
}

const down = ({ program, commands }: TeamProgram) =>
  command({
    name: "down",
    description: "stop the agents that `up` launched from this file; mail, prompts and worktrees stay",
    examples: [`${program} down`, `${program} down --worktrees --yes`],
    args: {
      ...teamFileFlag,
      worktrees: {
        type: "boolean",
        description: "remove their git worktrees too, but for those with work that is not committed",
      },
      yes: { type: "boolean", alias: "y", description: "do not ask at the terminal" },
    },
    async run(invocation) {
      const { args, io } = invocation;
      const team = await openTeam(invocation, { file: args.file, program, commands });
      const facts = await team.facts();
      const steps = planDown(facts);
      if (steps.length > 0 && !args.yes) {
        await io.writeError(`${renderPlan(steps, team.shown)}\n`);
        await confirmed(io, "Do this?", false);
      }
      const signal = io.interrupted();
      const performed = await performSteps(steps, team.perform, signal);
      const { failures } = performed;
      const worktrees = args.worktrees ? await team.removeWorktrees(failures, signal) : [];
      const json = { file: team.path, prefix: team.shown.prefix, plan: steps };
      if (signal.aborted) {
        throw interruptedSteps(performed, team.describe, `${program} down`, { ...json, worktrees });
      }
      const lines = [
        steps.length === 0 ? "nothing runs that `up` launched" : renderPlan(steps, team.shown),
        ...failures.map(({ step, detail }) => `failed: ${team.describe(step)}: ${detail}`),
        ...worktrees.map(({ agent, kept }) =>
          kept === null ? `removed the worktree of ${agent}` : `kept the worktree of ${agent}: ${kept}`,
        ),
      ];
      return {
        json: { ...json, failures, worktrees },
        text: lines.join("\n"),
        exitCode: failures.length > 0 ? exitCodes.refused : exitCodes.done,
      };
    },
  });

const status = ({ program, commands }: TeamProgram) =>
  command({
    name: "status",
    description: "how the machine differs from svc.yaml; exits 1 when it does",
    examples: [`${program} status`, `${program} status --json`],
    args: teamFileFlag,
    async run(invocation) {
      const team = await openTeam(invocation, { file: invocation.args.file, program, commands });
      const steps = planTeam({ ...(await team.facts()), restart: false, prune: false });
      return {
        json: { file: team.path, prefix: team.shown.prefix, plan: steps },
        text: renderPlan(steps, team.shown),
        exitCode: steps.every(({ step }) => step === "keep") ? exitCodes.done : exitCodes.refused,
      };
    },
  });

interface TeamProgram {
  /** The words in front, for the examples. */
  program: string;
  /** All commands of `svc-mgr`, which make the changes. */
  commands: () => Promise<Command>;
}

export const teamCommands = (of: TeamProgram) => ({ up: up(of), down: down(of), status: status(of) });

/** One team on this machine: its file, what `up` launched before, and the commands that change something. */
async function openTeam(
  invocation: Invocation<never> | Invocation,
  {
    file: given,
    prefix: wantedPrefix,
    program,
    commands,
  }: TeamProgram & { file?: string | undefined; prefix?: string | undefined },
) {
  const { io, inherited } = invocation;
  const context = openCliContext(io, inherited);
  const path = findTeamFile(context, io, given);
  const folder = dirname(path);
  const team = await readTeam(context, io, path);
  const at: CliIo = { ...io, cwd: folder };
  const state = teamFolder(join(stateRootOf(io.env, io.home), "teams"), path);
  const store = createTeamStore(context.files, state, path);
  const prefix = wantedPrefix ?? store.prefix();
  const nameOf = (member: string) => prefixedName(prefix, member);
  for (const member of Object.keys(team.agents)) {
    const problem = nameProblem(nameOf(member));
    if (problem !== null) throw new UsageError(problem, invocation.path);
  }
  const worktrees = createWorktrees(context, {
    repository: folder,
    root: childPath(worktreesRootOf(io.env, io.home), basename(state)),
    formerRoot: join(state, "worktrees"),
    env: io.env,
  });
  const launches: Record<string, TeamLaunch> = {};
  const details: Record<string, LaunchDetails> = {};
  const variables: Record<string, Record<string, string>> = {};
  const words: Record<string, string[]> = {};
  for (const [name, agent] of Object.entries(team.agents)) {
    const env = await readEnvironment(context, folder, name, agent);
    const role = await readRole(context, folder, name, agent);
    const workdir = agent.worktree ? worktrees.pathOf(nameOf(name)) : resolve(folder, agent.workdir ?? ".");
    launches[name] = {
      tool: agent.tool,
      workdir,
      worktree: agent.worktree === true,
      args: agent.args ?? [],
      headless: agent.headless === true,
      unattended: agent.unattended === true,
      mailbox: agent.mailbox === true,
      model: agent.model ?? null,
      role_sha256: role === null ? null : sha256(role.text),
      env_sha256: sha256(JSON.stringify(Object.entries(env).sort())),
    };
    const isInside = agent.worktree || workdir === folder || context.files.isBelow(workdir, [folder]);
    const outside = isInside ? null : (context.files.realPath(workdir) ?? workdir);
    details[name] = toLaunchDetails(agent, { variables: env, workdir, outside });
    variables[name] = env;
    const owner = { file: path, member: name };
    words[name] = launchWords(nameOf(name), agent, { workdir, env, roleFile: role?.path ?? null, owner });
  }

  const reminders = Object.fromEntries(
    Object.entries(team.agents).map(([name, agent]) => [name, remindersOf(agent)]),
  );
  const digestOf = (flags: readonly string[]) => sha256(JSON.stringify(flags));

  const roots = Object.keys(rootFlags).flatMap((flag) =>
    typeof inherited[flag] === "string" ? [`--${flag}=${resolve(io.cwd, inherited[flag])}`] : [],
  );

  function workdirOf(agentId: string): string | null {
    const record = context.registry.read(agentId);
    return (record && openRecordOrNull(context.files, record)?.manifest.working_directory) ?? null;
  }

  /** One command of `svc-mgr`, its document or why it failed. */
  async function run(argv: readonly string[], rest: readonly string[] = []) {
    let [out, err] = ["", ""];
    const quiet: CliIo = {
      ...at,
      stdoutIsTty: false,
      stderrIsTty: false,
      async writeOut(text) {
        out += String(text);
      },
      async writeError(text) {
        err += text;
      },
      writeScreen: async () => {},
    };
    const all = [...roots, ...argv, "--json", ...(rest.length > 0 ? ["--", ...rest] : [])];
    const exitCode = await runProgram(await commands(), programVersion, all, quiet);
    const document = parseDocument(exitCode === exitCodes.done ? out : err || out);
    return {
      ok: exitCode === exitCodes.done,
      unreachable: exitCode === exitCodes.unreachable,
      document,
      problem: String(document["detail"] ?? err),
    };
  }

  const facts = async (): Promise<Omit<TeamFacts, "restart" | "prune">> => {
    const [listed, accounts] = [
      await run(["agents", "list", "--state", "all"]),
      team.people ? await run(["mailbox", "accounts", "list"]) : null,
    ];
    if (!listed.ok) throw new CommandFailure(exitCodes.refused, listed.problem);
    const state = store.read();
    const running = (listed.document["agents"] as Omit<RunningAgent, "folder">[]).map((one) => ({
      ...one,
      folder: workdirOf(one.agent_id),
    }));
    const registered = (accounts?.document["accounts"] ?? []) as {
      address: string;
      status: string;
      role: string | null;
    }[];
    return {
      team,
      file: path,
      prefix,
      launches,
      details,
      state,
      running,
      reminders: mapValues(reminders, (ofAgent) =>
        mapValues(ofAgent, ({ prompt, when, flags }) => ({ prompt, when, sha256: digestOf(flags) })),
      ),
      liveReminders: await readReminders(state, running),
      liveNotifiers: await readNotifiers(running),
      worktrees: new Set(Object.keys(team.agents).filter((name) => worktrees.exists(nameOf(name)))),
      addresses: new Set(
        registered
          .filter((one) => one.status === "active" && one.role === personRole)
          .map(({ address }) => address),
      ),
    };
  };

  /** A gateway that has just started on a busy machine may take longer than a caller waits. */
  async function runPatiently(words: readonly string[]) {
    let made = await run(words);
    for (let again = 0; made.unreachable && again < 3; again++) made = await run(words);
    return made;
  }

  const remindersCommand = (agentId: string, ...words: string[]) => [
    "agents",
    "single",
    `--agent-id=${agentId}`,
    "gateway",
    "reminders",
    ...words,
  ];

  /** Of agents that have some by this file or had. */
  async function readReminders(state: TeamRecord["agents"], running: readonly RunningAgent[]) {
    const live: TeamFacts["liveReminders"] = {};
    for (const [name, { agent_id, reminders: made = {} }] of Object.entries(state)) {
      const isRunning = running.some((one) => one.agent_id === agent_id && one.lifecycle_state === "active");
      const concerns = Object.keys({ ...made, ...reminders[name] }).length > 0;
      if (!isRunning || !concerns) continue;
      const { ok, document } = await run(remindersCommand(agent_id, "list"));
      const listed = document["reminders"] as { reminder_id: string }[];
      live[name] = ok ? new Set(listed.map(({ reminder_id }) => reminder_id)) : null;
    }
    return live;
  }

  const notifierCommand = (agentId: string, ...words: string[]) => [
    "agents",
    "single",
    `--agent-id=${agentId}`,
    "gateway",
    "mail-notifier",
    ...words,
  ];

  /** Of agents that the file gives a notifier. */
  async function readNotifiers(running: readonly RunningAgent[]) {
    const live: TeamFacts["liveNotifiers"] = {};
    for (const { member, agentId } of ownAgents({ file: path, running })) {
      if (!team.agents[member]?.notifier) continue;
      const { ok, document } = await run(notifierCommand(agentId, "status"));
      live[member] = ok ? document : null;
    }
    return live;
  }

  /** Null when it was done, else why not. */
  async function perform(step: TeamStep): Promise<string | null> {
    switch (step.step) {
      case "register": {
        await narrate(io, `registering ${step.address}`);
        const principal = `SVC-${step.person}`;
        await run(["mailbox", "init"]);
        const made = await run([
          "mailbox",
          "register",
          `--address=${step.address}`,
          `--principal-id=${principal}`,
          `--role=${personRole}`,
        ]);
        return made.ok ? null : made.problem;
      }
      case "worktree":
        await narrate(io, `making the worktree of ${nameOf(step.agent)}`);
        return worktrees.make(nameOf(step.agent));
      case "launch":
      case "replace": {
        const { agent: name } = step;
        const launch = launches[name];
        if (!launch) return "it is not in the file";
        if (launch.worktree && !worktrees.exists(nameOf(name))) return "its worktree is not there";
        await narrate(io, `launching ${nameOf(name)}`);
        const force = step.step === "replace" ? ["--force=keep-stale"] : [];
        const made = await run([...(words[name] ?? []), ...force], launch.args);
        const agentId = made.document["agent_id"];
        if (typeof agentId !== "string") return made.problem;
        store.set(name, { agent_id: agentId, launch: made.ok ? launch : unfinished(launch), owned: true });
        return made.ok ? null : made.problem;
      }
      case "stop": {
        await narrate(io, `stopping ${nameOf(step.agent)}`);
        const stopped = await run(["agents", "single", `--agent-id=${step.agentId}`, "stop"]);
        return stopped.ok ? null : stopped.problem;
      }
      case "remind": {
        const flags = reminders[step.agent]?.[step.name]?.flags;
        const agentId = store.read()[step.agent]?.agent_id;
        if (!flags || agentId === undefined) return "its agent was not launched";
        const made = await runPatiently(remindersCommand(agentId, "create", ...flags));
        const [created] = (made.document["reminders"] ?? []) as { reminder_id: string }[];
        if (!made.ok || !created) return made.problem;
        const { reminder_id } = created;
        store.setReminder(step.agent, step.name, { reminder_id, sha256: digestOf(flags) });
        return null;
      }
      case "notifier": {
        const agentId = store.read()[step.agent]?.agent_id;
        if (agentId === undefined) return "its agent was not launched";
        const flags = step.changes.flatMap(({ setting, to }) =>
          setting === "enabled" ? [] : [`--${setting.replaceAll("_", "-")}=${to}`],
        );
        const words = step.enabled ? ["enable", ...flags] : ["disable"];
        const set = await runPatiently(notifierCommand(agentId, ...words));
        return set.ok ? null : `mail-notifier: ${set.problem}`;
      }
      case "forget": {
        const agentId = store.read()[step.agent]?.agent_id;
        if (agentId === undefined) return null;
        const removed = await runPatiently(remindersCommand(agentId, "remove", step.reminderId));
        if (!removed.ok) return removed.problem;
        store.setReminder(step.agent, step.name, null);
        return null;
      }
      case "keep":
      case "leave":
      case "clash":
        return null;
    }
  }

  /** Of agents that do not run any more. `kept`: why a worktree stays. */
  async function removeWorktrees(failures: readonly TeamFailure[], signal: AbortSignal) {
    const running = new Set(failures.flatMap(({ step }) => ("agent" in step ? [step.agent] : [])));
    const names = Object.entries(store.read()).filter(([, { launch }]) => launch.worktree);
    const removed: { agent: string; kept: string | null }[] = [];
    for (const [name] of names) {
      if (signal.aborted) break;
      const agent = nameOf(name);
      if (!worktrees.exists(agent)) continue;
      removed.push({ agent, kept: running.has(name) ? "the agent runs" : await worktrees.remove(agent) });
    }
    return removed;
  }

  const shown: PlanContext = { variables, prefix, program };
  return {
    path,
    shown,
    describe: (step: TeamStep) => describeStep(step, shown),
    keepPrefix: () => store.setPrefix(prefix),
    facts,
    perform,
    removeWorktrees,
  };
}

function mapValues<T, U>(of: Record<string, T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]));
}

function parseDocument(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
