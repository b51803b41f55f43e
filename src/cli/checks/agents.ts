import { join } from "node:path";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { Advise } from "../../protocol/remedy.ts";
import { countWaiting, findUnreferenced } from "../../services/fleet/unreferenced.ts";
import { isRunning, openRecordOrNull } from "../../services/sessions/find.ts";
import { adoptOrphan, findOrphans, type Orphan } from "../../services/sessions/orphans.ts";
import { buildRecord, isStoppedByPerson, judgeRecord, toStopped } from "../../services/sessions/record.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { explainExposure } from "../../services/sessions/trust.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import { messageOf } from "../../system/errors.ts";
import { orphanText } from "../agent/snapshot-text.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";
import { describeFailure } from "../command-line/dispatch.ts";
import { toClause } from "../command-line/remedies.ts";
import { type Check, damaged, ok, warning } from "./check.ts";

type Terms = Pick<CliIo, "program">;

/** Records of agents that are gone, and entries that are no records. With `fix` both are cleaned up. */
export async function checkRecords(context: CliContext, fix: boolean, io: Terms): Promise<Check> {
  try {
    return await judgeRecords(context, fix, io);
  } catch (error) {
    // Without tmux nobody can say which agents live: nothing is called stale then, and nothing is cleaned up.
    return warning("registry", `cannot determine which agents live: ${messageOf(error)}`, null);
  }
}

async function judgeRecords(context: CliContext, fix: boolean, { program }: Terms): Promise<Check> {
  const { registry, clock, sessionAlive } = context;
  const unread = fix ? registry.list().ignored : [];
  const cleaned = fix ? await registry.cleanUp() : null;
  if (unread.length > 0) await restoreRecords(context);
  const { records, ignored } = registry.list();
  const stale: string[] = [];
  for (const record of records) {
    const facts = { sessionAlive: await sessionAlive(record), nowMs: clock.nowMs() };
    const verdict = judgeRecord(record, facts);
    if (!verdict.keep) stale.push(`${record.agent_name}: ${verdict.why}`);
  }
  const locks = join(context.roots.registryRoot, "locks");
  const unusable = context.files
    .list(locks)
    .filter(isOneName)
    .map((name) => childPath(locks, name))
    .filter((path) => path.endsWith(".lock") && context.files.stat(path)?.directory);
  if (unusable.length > 0) {
    return damaged("registry", `a folder is where a file belongs: ${unusable.join(", ")}`, "move it away");
  }
  const problems = [...stale, ...ignored.map((one) => `${one.path} ${one.problem}`)];
  if (problems.length > 0) {
    const mend = fix ? "what could not be cleaned up must be looked at by hand" : `${program} doctor --fix`;
    const remedy =
      stale.length === 0 ? mend : `bring agents back that are gone: ${program} resume; else ${mend}`;
    return warning("registry", problems.join("; "), remedy);
  }
  return ok("registry", cleaned ? `cleaned up: ${cleaned.length}` : `${records.length} agents recorded`);
}

/**
 * Gives an agent whose record was removed the record of a stopped one, from the manifest of its newest session:
 * it can be started again.
 */
async function restoreRecords(context: CliContext): Promise<void> {
  const { registry, clock } = context;
  for (const { sessionRoot, manifest, inUse } of await findUnreferenced(context)) {
    // One that is used is found again by its tmux session.
    if (manifest === null || inUse !== null || registry.read(manifest.agent_id) !== null) continue;
    const { manifest: manifestPath } = sessionPaths(sessionRoot);
    const nowMs = clock.nowMs();
    const record = buildRecord({ manifest, manifestPath, sessionRoot, nowMs });
    await registry.publish(toStopped(record, "session_gone", nowMs));
  }
}

/** Agents that do not run and can be started again; a warning where prompts wait, or no person stopped them. */
export function checkStopped({ files, registry }: CliContext, advise: Advise): Check[] {
  const name = "stopped agents";
  const stopped = registry.list().records.flatMap((record) => {
    const agent = isRunning(record) ? null : openRecordOrNull(files, record);
    if (!agent || record.lifecycle.relaunchable === false) return [];
    const waiting = countWaiting(files, agent.sessionRoot) ?? 0;
    const label = waiting > 0 ? `${record.agent_name} (${waiting})` : record.agent_name;
    return [{ record, waiting, label }];
  });
  if (stopped.length === 0) return [];
  const labels = (some: typeof stopped) => some.map(({ label }) => label).join(", ");
  const gone = stopped.filter(({ record }) => !isStoppedByPerson(record));
  const waiting = stopped.filter((one) => one.waiting > 0 && !gone.includes(one));
  const [first] = waiting;
  const checks: Check[] = [];
  if (gone.length > 0) {
    const { command } = advise({ code: "resume_agents" });
    const detail = `they went with their machine or its tmux server: ${labels(gone)}`;
    checks.push(warning(name, detail, `bring them back: ${command}`));
  }
  if (first) {
    const { command } = advise({ code: "restart_stopped", agent_name: first.record.agent_name });
    checks.push(warning(name, `prompts wait for ${labels(waiting)}`, `bring it back: ${command}`));
  }
  return checks.length > 0 ? checks : [ok(name, `can be started again: ${labels(stopped)}`)];
}

type OrphanContext = Pick<CliContext, "files" | "processes" | "tmux" | "roots" | "registry" | "clock">;

/**
 * Agents without a record: of a launch that was cut short, or of a state folder that was lost. With `fix`
 * those that are whole get theirs; each of the others is named with the reason and what to do.
 */
export async function checkOrphans(context: OrphanContext, fix: boolean, advise: Advise): Promise<Check> {
  try {
    const deps = { ...context, runtimeRoot: context.roots.runtimeRoot };
    const orphans = await findOrphans(deps, context.registry.list().records);
    const adopted: string[] = [];
    const left: { orphan: Orphan; problem: string | null; remedy: string }[] = [];
    for (const orphan of orphans) {
      const { manifest, problem } = orphan;
      const remedy = orphanText(context, advise, orphan);
      try {
        if (fix && manifest) adopted.push((await adoptOrphan(context, { ...orphan, manifest })).agent_name);
        else left.push({ orphan, problem, remedy });
      } catch (error) {
        const lost = orphanText(context, advise, { ...orphan, manifest: null, state: "lost" });
        const again = toClause(advise({ code: "adopt_orphan", agent_name: orphan.agentName ?? "" }));
        const mend = `${lost}, or mend what is in its way and then ${again}`;
        left.push({ orphan, problem: describeFailure(error, advise).detail, remedy: mend });
      }
    }
    const found = adopted.length > 0 ? [`found again: ${adopted.join(", ")}`] : [];
    if (left.length === 0) return ok("orphans", found[0] ?? "none");
    const unnamed = left.map(({ orphan, problem }) => {
      const { agentName, tmuxSession } = orphan;
      const name = agentName === null ? tmuxSession : `"${agentName}" in ${tmuxSession}`;
      return problem === null ? name : `${name} (${problem})`;
    });
    const remedies = left.map(({ remedy }) => remedy).join("; ");
    // One that works is out of reach of every command; one that was never whole is only in the way.
    const judge = left.some(({ orphan }) => orphan.state !== "unfinished") ? damaged : warning;
    return judge("orphans", [...found, `no record names ${unnamed.join(", ")}`].join("; "), remedies);
  } catch (error) {
    return warning("orphans", messageOf(error), null);
  }
}

/** Folders that are refused: the roots, the overlay of the working directory, and the sessions of agents. */
export function checkTrust({ files, roots, overlay, registry }: CliContext, { program }: Terms): Check {
  const name = "trusted folders";
  const rootExposures = [roots.registryRoot, roots.runtimeRoot].flatMap((root) => {
    const exposure = files.exposure(root);
    return exposure ? [explainExposure(exposure)] : [];
  });
  const overlays = overlay?.refusal ? [`the overlay here: ${overlay.refusal}`] : [];
  const agents = registry.list().records.flatMap(({ agent_name, runtime }) => {
    const exposure = files.exposure(runtime.manifest_path);
    return exposure ? [`the session of ${agent_name}: ${explainExposure(exposure)}`] : [];
  });
  const refused = [...rootExposures, ...overlays, ...agents];
  if (refused.length === 0) return ok(name, "no other user can change where sessions are kept");
  return warning(name, refused.join(". "), `${program} overlay status says more of an overlay`);
}

/** Agents whose gateways are to listen on the same port: only one of them can. */
export function checkGatewayPorts(context: CliContext): Check {
  const wishes = new Map<number, string[]>();
  for (const record of context.registry.list().records) {
    const port = record.lifecycle.state === "active" ? wishedPort(context, record) : null;
    if (port !== null) wishes.set(port, [...(wishes.get(port) ?? []), record.agent_name]);
  }
  const shared = [...wishes].filter(([, names]) => names.length > 1);
  if (shared.length === 0) return ok("ports of gateways", `${wishes.size} asked for, no two the same`);
  const detail = shared.map(([port, names]) => `${port} is asked for by ${names.join(" and ")}`).join("; ");
  const [, [, name = ""] = []] = shared[0] ?? [];
  return warning(
    "ports of gateways",
    detail,
    `svc-mgr agents single --agent-name ${name} gateway attach --port 0`,
  );
}

function wishedPort({ files }: CliContext, { runtime }: RegistryRecord): number | null {
  if (!runtime.session_root) return null;
  try {
    return openSessionFolder(files, runtime.session_root).readDesiredConfig().desired_port ?? null;
  } catch {
    return null;
  }
}
