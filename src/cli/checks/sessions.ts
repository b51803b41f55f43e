import { basename, join } from "node:path";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import { jsonValue } from "../../protocol/json.ts";
import type { Advise } from "../../protocol/remedy.ts";
import { signalPaths } from "../../services/extensions/bridges/signals/spool-source.ts";
import { runningCoordinators } from "../../services/fleet/coordinator-files.ts";
import { diagnose } from "../../services/fleet/diagnose.ts";
import { toKnownAgent } from "../../services/fleet/directory.ts";
import { type AgentProblem, type AgentSnapshot, listSnapshots } from "../../services/fleet/fleet-list.ts";
import { createCommandReader } from "../../services/fleet/fleet-reader.ts";
import { createTurnDirectories } from "../../services/headless/turn-directory.ts";
import { rootPaths } from "../../services/mail/filesystem/root-paths.ts";
import type { MailPage } from "../../services/mail/mailbox.ts";
import { type FoundAgent, openRecordOrNull } from "../../services/sessions/find.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { lacksSignals, signalsAbsence } from "../../services/sessions/tool-signals.ts";
import { agentPane } from "../../services/terminal/tmux/command.ts";
import { messageOf } from "../../system/errors.ts";
import { hasOwnNamespace } from "../../system/process-table.ts";
import { shellWord } from "../../system/shell-word.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { mailboxOpeners } from "../command-line/mailbox-openers.ts";
import { toSentence } from "../command-line/remedies.ts";
import { type Check, damaged, ok, warning } from "./check.ts";

/**
 * Agents that run and cannot work, by name in `idle` too, and files of their sessions that are not as we
 * write them.
 */
export async function checkAgents(
  context: CliContext,
  advise: Advise,
): Promise<{ checks: Check[]; idle: string[] }> {
  const running = context.registry.list().records.filter(({ lifecycle }) => lifecycle.state === "active");
  const mended: string[] = [];
  const openers = mailboxOpeners(context, (what) => void mended.push(what));
  try {
    const reader = createCommandReader(context, context.sessionAlive);
    const agents = running.map((record) => toKnownAgent(context.files, record));
    const snapshots = await listSnapshots({ reader, openers, clock: context.clock }, agents);
    const found = await Promise.all(
      snapshots.map((snapshot) => judgeAgent(context, openers, snapshot, advise)),
    );
    const checks = [...found.flat(), ...mended.map((what) => warning("mailbox", what, null))];
    const idle = snapshots.filter((one) => problemOf(one) !== null);
    return {
      checks: checks.length > 0 ? checks : [ok("agents", `${running.length} run, none needs a hand`)],
      idle: idle.map(({ record }) => record.agent_name),
    };
  } catch (error) {
    return { checks: [warning("agents", messageOf(error), null)], idle: [] };
  } finally {
    for (const opener of Object.values(openers)) opener.close();
  }
}

/**
 * Which running agents report what they do, and why the others do not. A lack that can be mended is a
 * warning; `joined`, `--no-signals` and a tool without a way are not.
 */
export function checkSignals(context: Pick<CliContext, "registry" | "files">): Check {
  const name = "reports of tools";
  const running = context.registry.list().records.filter(({ lifecycle }) => lifecycle.state === "active");
  const agents = running.flatMap((record) => {
    const manifest = openRecordOrNull(context.files, record)?.manifest;
    if (!manifest || manifest.headless !== undefined) return [];
    return [{ name: record.agent_name, manifest, absence: signalsAbsence(manifest) }];
  });
  if (agents.length === 0) return ok(name, "no agent runs in a terminal");
  const detail = agents.map((one) =>
    one.absence === null ? `${one.name} reports` : `${one.name} does not: ${one.absence}`,
  );
  const lacking = agents.filter(({ manifest }) => lacksSignals(manifest)).map((one) => one.name);
  if (lacking.length === 0) return ok(name, detail.join("; "));
  return warning(name, detail.join("; "), `they are known by their screens alone: ${lacking.join(", ")}`);
}

const sandboxPrograms = ["bwrap", "firejail", "nsjail", "sandbox-exec"];

/**
 * Agents in a sandbox that we can see, and whether a coordination server lets them out: one on loopback
 * without a token takes work from every program of this user, and launches agents outside. Nothing where no
 * agent is in a sandbox.
 */
export async function checkSandboxes(
  context: Pick<CliContext, "registry" | "files" | "processes" | "tmuxFor" | "runtimeRoot">,
  isApart: (pid: number) => boolean = hasOwnNamespace,
): Promise<Check[]> {
  const name = "sandboxes";
  const running = context.registry.list().records.filter(({ lifecycle }) => lifecycle.state === "active");
  const found = await Promise.all(running.map((record) => sandboxOf(context, record, isApart)));
  const agents = running.flatMap(({ agent_name: agent }, at) =>
    found[at] ? [`${agent} (${found[at]})`] : [],
  );
  if (agents.length === 0) return [];
  const open = runningCoordinators(context).filter(({ paths }) => !context.files.exists(paths.token));
  const detail = `in a sandbox: ${agents.join(", ")}`;
  if (open.length === 0) return [ok(name, `${detail}; no coordination server answers without a token`)];
  const where = open.map(({ instance }) => instance.api_base_url).join(", ");
  const why = `where it has loopback, such an agent launches others outside through ${where}, which asks for no token`;
  return [warning(name, `${detail}; ${why}`, "end it and start it again: svc-coord serve --token")];
}

/**
 * What confines an agent: the program, or that it sees other files or processes than we do. Null for none
 * that shows.
 */
async function sandboxOf(
  { files, processes, tmuxFor }: Pick<CliContext, "files" | "processes" | "tmuxFor">,
  record: RegistryRecord,
  isApart: (pid: number) => boolean,
): Promise<string | null> {
  const { current_session_name: session, socket } = record.terminal;
  if (!session) return null;
  try {
    const recorded = openRecordOrNull(files, record)?.manifest.tmux.primary_pane_id ?? null;
    const pane = agentPane(await tmuxFor(socket).panes(session), recorded);
    const tree = pane?.dead === false ? await processes.tree(pane.panePid) : [];
    const program = tree
      .map(({ argv }) => basename(argv[0] ?? ""))
      .find((one) => sandboxPrograms.includes(one));
    return program ?? (tree.some(({ pid }) => isApart(pid)) ? "separate namespaces" : null);
  } catch {
    // Other checks report a tmux server that cannot be asked.
    return null;
  }
}

/** Of the messages in an inbox, the newest so many. */
const maxJudged = 200;

type Openers = ReturnType<typeof mailboxOpeners>;

async function judgeAgent(
  context: CliContext,
  openers: Openers,
  snapshot: AgentSnapshot,
  advise: Advise,
): Promise<Check[]> {
  const { record } = snapshot;
  const name = `agent ${record.agent_name}`;
  const problem = problemOf(snapshot);
  const state = problem === null ? [] : [toCheck(name, problem, advise)];
  const agent = openRecordOrNull(context.files, record);
  if (!agent) return state;
  return [
    ...state,
    ...judgeFiles(context, name, agent),
    ...judgeTurns(context, name, agent.sessionRoot),
    ...(await judgeMailbox(context, openers, name, agent.manifest, advise)),
  ];
}

/** Also that nothing takes work for it. */
function problemOf({ attention, problem }: AgentSnapshot): AgentProblem | null {
  return (attention && diagnose(attention)[0]) ?? problem;
}

function toCheck(name: string, { severity, detail, remedy }: AgentProblem, advise: Advise): Check {
  // The reader of this has called it.
  const step = remedy === null || remedy.code === "run_doctor" ? null : toSentence(advise(remedy));
  return (severity === "damage" ? damaged : warning)(name, detail, step);
}

function judgeFiles({ files }: CliContext, name: string, { sessionRoot, manifest }: FoundAgent): Check[] {
  const paths = sessionPaths(sessionRoot);
  const signals = signalPaths(sessionRoot);
  const checks: Check[] = [];
  const lost = openSessionFolder(files, sessionRoot).launchVariablesFault(manifest);
  if (lost !== null) checks.push(damaged(name, lost, "svc needs the values for each turn"));
  try {
    openSessionFolder(files, sessionRoot).readDesiredConfig();
  } catch (error) {
    const remedy = `put a copy of it in its place, or remove it: rm -r ${shellWord(paths.desiredConfig)}`;
    checks.push(damaged(name, messageOf(error), remedy));
  }
  const texts = [
    paths.protocolVersion,
    paths.events,
    paths.gatewayLog,
    paths.pidFile,
    paths.token,
    paths.challengeKey,
    join(paths.gatewayRoot, "attach.lock"),
    paths.gatewayLock,
    paths.lastPort,
    signals.spool,
    signals.rotated,
    signals.opencodePlugin,
  ];
  const folders = texts.filter((path) => files.stat(path)?.directory);
  if (folders.length > 0) checks.push(folderInPlace(name, folders));
  const ofGateway = [paths.state, paths.attach, paths.gatewayManifest, paths.currentInstance];
  const derived = [
    { by: "the gateway", paths: [...ofGateway, signals.cursor] },
    { by: "the next start of the agent", paths: [signals.claudeSettings, signals.opencodeConfig] },
  ];
  for (const { by, paths: written } of derived) {
    const strange = written.filter((path) => files.exists(path) && !isJson(files, path));
    if (strange.length === 0) continue;
    checks.push(
      warning(name, `not as svc wrote it: ${strange.join(", ")}`, `remove it; ${by} writes it again`),
    );
  }
  return checks;
}

const folderInPlace = (name: string, folders: readonly string[]) =>
  damaged(name, `a folder is where a file belongs: ${folders.join(", ")}`, "move it away");

/** A turn that was begun has its request; one that has an exit code has its result. */
function judgeTurns({ files }: CliContext, name: string, sessionRoot: string): Check[] {
  const damagedTurns = createTurnDirectories({ files, sessionRoot })
    .all()
    .flatMap((turn) => {
      if (turn.request() === null) return [turn.paths.request];
      return files.exists(turn.paths.exitCode) && turn.result() === null ? [turn.paths.result] : [];
    });
  if (damagedTurns.length === 0) return [];
  const detail = `records of ended turns are missing or damaged: ${damagedTurns.join(", ")}`;
  return [warning(name, detail, "put a copy in its place, or remove the folder of the turn")];
}

const isJson = (files: CliContext["files"], path: string): boolean =>
  typeof jsonValue(files.read(path)) === "object";

/** Of the newest page of its inbox: those whose files are lost. */
function judgeMail(
  { files }: CliContext,
  name: string,
  { messages, unreadable = 0 }: MailPage,
  repair: string,
): Check[] {
  const spoilt = messages.flatMap(({ attachments }) =>
    attachments.flatMap(({ kind, locator, size_bytes: size }) => {
      if (kind !== "managed_copy" || locator === null) return [];
      const found = files.stat(locator);
      return found && !found.directory && found.size === size ? [] : [locator];
    }),
  );
  return [
    ...(unreadable === 0
      ? []
      : [
          warning(
            name,
            `its mailbox: the files of ${unreadable} messages in its inbox are missing or damaged`,
            `${repair} names them; put copies in their places, or archive the messages`,
          ),
        ]),
    ...(spoilt.length === 0
      ? []
      : [
          warning(
            name,
            `its mailbox: attachments are missing or damaged: ${spoilt.join(", ")}`,
            "put copies in their places, or have them sent again",
          ),
        ]),
  ];
}

async function judgeMailbox(
  context: CliContext,
  openers: Openers,
  name: string,
  manifest: Manifest,
  advise: Advise,
): Promise<Check[]> {
  const binding = manifest.launch_plan.mailbox;
  const opener = binding && openers[binding.transport];
  if (!binding || !opener) return [];
  const { command: repair } = advise({ code: "repair_mailboxes" });
  const { filesystem_root: root } = binding;
  const texts = root === undefined ? [] : [rootPaths(root).protocolVersion, rootPaths(root).indexLock];
  const folders = texts.filter((path) => context.files.stat(path)?.directory);
  if (folders.length > 0) return [folderInPlace(name, folders)];
  try {
    const obstacle = opener.obstacle(binding);
    if (obstacle !== null)
      return [warning(name, `its mailbox: ${obstacle}`, binding.transport === "filesystem" ? repair : null)];
    const mailbox = opener.open(binding);
    try {
      const page = await mailbox.list({
        box: "inbox",
        readState: "any",
        answeredState: "any",
        archived: false,
        limit: maxJudged,
        since: null,
        includeBody: false,
        cursor: null,
        query: null,
        onlyReadable: true,
      });
      return judgeMail(context, name, page, repair ?? "");
    } finally {
      mailbox.close();
    }
  } catch (error) {
    return [damaged(name, `its mailbox: ${messageOf(error)}`, repair)];
  }
}
