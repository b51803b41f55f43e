import { basename, dirname, join, resolve } from "node:path";
import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import type { TeamAgent, TeamLaunch, TeamRecord } from "../../protocol/team-file.ts";
import { type LaunchDetails, toLaunchDetails } from "../../services/extensions/team/launch-details.ts";
import {
  isAlive,
  ownAgents,
  planDown,
  planTeam,
  type RunningAgent,
  type TeamFacts,
  type TeamStep,
  unfinished,
} from "../../services/extensions/team/plan.ts";
import { remindersOf } from "../../services/extensions/team/team-file.ts";
import { createTeamStore, prefixedName } from "../../services/extensions/team/team-store.ts";
import { createWorktrees } from "../../services/extensions/team/worktrees.ts";
import type { CallRequest } from "../../services/fleet/gateway-client.ts";
import { personMailbox, personRole } from "../../services/mail/address.ts";
import { listAccounts } from "../../services/mail/filesystem/registration/accounts.ts";
import { openRecordOrNull } from "../../services/sessions/find.ts";
import { nameProblem } from "../../services/sessions/names.ts";
import { readStoredSettings, type StoredSettings } from "../../services/sessions/notifier-carry-over.ts";
import { stateRootOf, worktreesRootOf } from "../../services/sessions/roots.ts";
import { teamFolder } from "../../services/sessions/team-record.ts";
import { childPath } from "../../system/contained-path.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import { toSnapshotJson } from "../agent/snapshot-text.ts";
import { type AgentCaller, bodyOf, openLiveTarget } from "../agent/target.ts";
import { openCliContext } from "../command-line/cli-context.ts";
import { type Caller, type CommandCaller, command, UsageError } from "../command-line/command.ts";
import { confirmed } from "../command-line/confirm.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { narrate } from "../command-line/narrate.ts";
import { rootFlags, teamFileFlag } from "../command-line/shared-flags.ts";
import { chooseRoot, prepareRoot, withMailRoot } from "../mail/mailbox-root.ts";
import { listAgents } from "../operations/fleet.ts";
import {
  describeFormer,
  findFormer,
  type Launched,
  type LaunchInput,
  launchNamed,
} from "../operations/launch.ts";
import { enableNotifier } from "../operations/notifier.ts";
import { type Outcome, outcomeOf, withoutTerminal } from "../operations/outcome.ts";
import { relaunchNamed } from "../operations/relaunch.ts";
import { stopNamed } from "../operations/session.ts";
import { findTeamFile, readEnvironment, readRole, readTeam } from "../team/team-files.ts";
import { describeStep, type PlanContext, renderPlan } from "../team/team-plan-text.ts";
import { interruptedSteps, performSteps, type TeamFailure } from "../team/team-steps.ts";

const up = (program: string) =>
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
      const team = await openTeam(invocation, { file: args.file, prefix: args.prefix, program });
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

const down = (program: string) =>
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
      const team = await openTeam(invocation, { file: args.file, program });
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

const status = (program: string) =>
  command({
    name: "status",
    description: "how the machine differs from svc.yaml; exits 1 when it does",
    examples: [`${program} status`, `${program} status --json`],
    args: teamFileFlag,
    async run(invocation) {
      const team = await openTeam(invocation, { file: invocation.args.file, program });
      const steps = planTeam({ ...(await team.facts()), restart: false, prune: false });
      return {
        json: { file: team.path, prefix: team.shown.prefix, plan: steps },
        text: renderPlan(steps, team.shown),
        exitCode: steps.every(({ step }) => step === "keep") ? exitCodes.done : exitCodes.refused,
      };
    },
  });

/** `program`: the words in front, for the examples. */
export const teamCommands = (program: string) => ({
  up: up(program),
  down: down(program),
  status: status(program),
});

/** One team on this machine: its file, what `up` launched before, and what changes something. */
async function openTeam(
  invocation: CommandCaller,
  {
    file: given,
    prefix: wantedPrefix,
    program,
  }: { program: string; file?: string | undefined; prefix?: string | undefined },
) {
  const { io, inherited } = invocation;
  const context = openCliContext(io, inherited);
  const path = findTeamFile(context, io, given);
  const folder = dirname(path);
  const team = await readTeam(context, io, path);
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
  const inputs: Record<string, LaunchInput> = {};
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
    inputs[name] = toLaunchInput(nameOf(name), agent, { workdir, env, roleFile: role?.path, team: owner });
  }

  const reminders = Object.fromEntries(
    Object.entries(team.agents).map(([name, agent]) => [name, remindersOf(agent)]),
  );
  const digestOf = (fingerprint: readonly string[]) => sha256(JSON.stringify(fingerprint));

  // Paths of the file count from its folder, those of the command line from the caller's.
  const roots = Object.keys(rootFlags).flatMap((flag) =>
    typeof inherited[flag] === "string" ? [[flag, resolve(io.cwd, inherited[flag])] as const] : [],
  );
  const caller: Caller = {
    io: withoutTerminal(io, { cwd: folder }),
    inherited: Object.fromEntries(roots),
  };
  const attempted = <T>(operation: () => Promise<T>) => outcomeOf(operation, io.advise);
  const agentOf = (agentId: string): AgentCaller => ({ ...caller, whom: { agentId } });

  const owns = (agentId: string): boolean => context.registry.read(agentId)?.team?.file === path;

  function workdirOf(agentId: string): string | null {
    const record = context.registry.read(agentId);
    return (record && openRecordOrNull(context.files, record)?.manifest.working_directory) ?? null;
  }

  const facts = async (): Promise<Omit<TeamFacts, "restart" | "prune">> => {
    const listed = await attempted(() => listAgents(caller, "all"));
    if (!listed.ok) throw new CommandFailure(exitCodes.refused, listed.detail);
    const accounts = team.people
      ? await attempted(() => withMailRoot(chooseRoot(caller), listAccounts))
      : null;
    const state = store.read();
    const running = listed.value.snapshots
      .map((one) => toSnapshotJson(one, io.advise))
      .map((one) => ({
        ...one,
        folder: workdirOf(one.agent_id),
      }));
    const registered = accounts?.ok ? accounts.value : [];
    return {
      team,
      file: path,
      prefix,
      launches,
      details,
      state,
      running,
      reminders: mapValues(reminders, (ofAgent) =>
        mapValues(ofAgent, ({ prompt, when, fingerprint }) => ({
          prompt,
          when,
          sha256: digestOf(fingerprint),
        })),
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
  async function patiently<T>(operation: () => Promise<T>): Promise<Outcome<T>> {
    let outcome = await attempted(operation);
    for (let again = 0; isUnreachable(outcome) && again < 3; again++) outcome = await attempted(operation);
    return outcome;
  }

  /** One call to the gateway of an agent. Throws its refusal. */
  async function callGateway<Name extends keyof GatewayEndpoints>(
    agentId: string,
    name: Name,
    options: CallRequest<Name>,
  ) {
    const { link } = await openLiveTarget(agentOf(agentId));
    return bodyOf<GatewayEndpoints[Name]>(await link.client.call(name, options));
  }

  /** Of an agent that does not run; null where nothing can be read. */
  function settingsOf({ session_root: root }: { session_root: string | null }): StoredSettings | null {
    try {
      return root === null ? null : readStoredSettings(context.files, root);
    } catch {
      return null;
    }
  }

  /** Of agents that have some by this file or had. */
  async function readReminders(state: TeamRecord["agents"], running: readonly RunningAgent[]) {
    const live: TeamFacts["liveReminders"] = {};
    for (const [name, { agent_id, reminders: made = {} }] of Object.entries(state)) {
      const one = running.find((one) => one.agent_id === agent_id);
      const concerns = Object.keys({ ...made, ...reminders[name] }).length > 0;
      if (!one || !concerns) continue;
      if (!isAlive(one)) {
        live[name] = new Set(settingsOf(one)?.reminderIds);
        continue;
      }
      const listed = await attempted(() => callGateway(agent_id, "listReminders", {}));
      live[name] = listed.ok ? new Set(listed.value.reminders.map(({ reminder_id }) => reminder_id)) : null;
    }
    return live;
  }

  /** Of agents that the file gives a notifier. */
  async function readNotifiers(running: readonly RunningAgent[]) {
    const live: TeamFacts["liveNotifiers"] = {};
    for (const one of running) {
      if (one.team?.file !== path || !team.agents[one.team.member]?.notifier) continue;
      const { member } = one.team;
      const { agent_id: agentId } = one;
      if (!isAlive(one)) {
        live[member] ??= settingsOf(one)?.notifier ?? {};
        continue;
      }
      const status = await attempted(() => callGateway(agentId, "readNotifier", {}));
      live[member] = status.ok ? status.value : null;
    }
    return live;
  }

  /** Null when it was done, else why not. */
  async function perform(step: TeamStep): Promise<string | null> {
    switch (step.step) {
      case "register": {
        await narrate(io, `registering ${step.address}`);
        const request = { ...personMailbox(step.address, step.person), mode: "safe" } as const;
        const made = await attempted(async () =>
          withMailRoot(await prepareRoot(caller), ({ registrations }) => registrations.register(request), {
            init: true,
          }),
        );
        return made.ok ? null : made.detail;
      }
      case "worktree":
        await narrate(io, `making the worktree of ${nameOf(step.agent)}`);
        return worktrees.make(nameOf(step.agent));
      case "resume": {
        const { agent: name, agentId } = step;
        const resumed = await attempted(() =>
          relaunchNamed(agentOf(agentId), {
            conversation: "own",
            waiting: "keep",
            isServed: true,
            env: variables[name] ?? {},
          }),
        );
        return resumed.ok ? null : resumed.detail;
      }
      case "launch":
      case "replace": {
        const { agent: name } = step;
        const [launch, input] = [launches[name], inputs[name]];
        if (!launch || !input) return "it is not in the file";
        if (launch.worktree && !worktrees.exists(nameOf(name))) return "its worktree is not there";
        await narrate(io, `launching ${nameOf(name)}`);
        const force = step.step === "replace" ? "keep-stale" : undefined;
        const former = await findFormer(caller, nameOf(name));
        // What an agent of this file left was judged by the plan.
        if (former !== null && former.waiting.length > 0 && !owns(former.agentId)) {
          return `a stopped agent of this name has ${describeFormer(former)}, and is none of this file: ${program} up --prefix NAME gives the agents of this folder other names`;
        }
        const made = await attempted(() => launchNamed(caller, { ...input, force, fresh: true }));
        if (!made.ok) {
          const { agent_id: id } = made.document as { agent_id?: unknown };
          if (typeof id === "string")
            store.set(name, { agent_id: id, launch: unfinished(launch), owned: true });
          return made.detail;
        }
        const problem = missingPart(made.value);
        const { agent_id } = made.value.session.manifest;
        store.set(name, { agent_id, launch: problem === null ? launch : unfinished(launch), owned: true });
        return problem;
      }
      case "stop": {
        await narrate(io, `stopping ${nameOf(step.agent)}`);
        const stopped = await attempted(() => stopNamed(agentOf(step.agentId)));
        if (!stopped.ok) return stopped.detail;
        return stopped.value.success ? null : stopped.value.detail;
      }
      case "remind": {
        const wanted = reminders[step.agent]?.[step.name];
        const agentId = store.read()[step.agent]?.agent_id;
        if (!wanted || agentId === undefined) return "its agent was not launched";
        const body = { schema_version: 1 as const, reminders: [wanted.definition] };
        const made = await patiently(() => callGateway(agentId, "createReminders", { body }));
        if (!made.ok) return made.detail;
        const [created] = made.value.reminders;
        if (!created) return "the gateway named no reminder";
        const { reminder_id } = created;
        store.setReminder(step.agent, step.name, { reminder_id, sha256: digestOf(wanted.fingerprint) });
        return null;
      }
      case "notifier": {
        const agentId = store.read()[step.agent]?.agent_id;
        if (agentId === undefined) return "its agent was not launched";
        const changed = step.changes.filter(({ setting }) => setting !== "enabled");
        const settings = Object.fromEntries(changed.map(({ setting, to }) => [setting, to]));
        const set = await patiently<unknown>(() =>
          step.enabled
            ? enableNotifier(agentOf(agentId), settings)
            : callGateway(agentId, "disableNotifier", {}),
        );
        return set.ok ? null : `mail-notifier: ${set.detail}`;
      }
      case "forget": {
        const agentId = store.read()[step.agent]?.agent_id;
        if (agentId === undefined) return null;
        const params = { reminder_id: step.reminderId };
        const removed = await patiently(() => callGateway(agentId, "deleteReminder", { params }));
        if (!removed.ok) return removed.detail;
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

const isUnreachable = (outcome: Outcome<unknown>) =>
  !outcome.ok && outcome.exitCode === exitCodes.unreachable;

/** What an agent that was launched lacks; null when it has all. Pure. */
function missingPart({ gateway, mailbox }: Launched): string | null {
  if (gateway.state === "failed") return `its gateway did not start: ${gateway.error}`;
  return mailbox !== null && "error" in mailbox ? `it has no mailbox: ${mailbox.error}` : null;
}

/** How an agent of the file is launched under `agentName`. Pure. */
function toLaunchInput(
  agentName: string,
  agent: TeamAgent,
  place: Pick<LaunchInput, "workdir" | "env" | "roleFile" | "team">,
): LaunchInput {
  return {
    ...place,
    agentName,
    tool: agent.tool,
    args: agent.args ?? [],
    unattended: agent.unattended,
    turns: { headless: agent.headless === true, model: agent.model },
    mailbox: agent.mailbox,
    gateway: { isStarted: true },
  };
}
