import { type ServiceState, serviceNames } from "../../services/extensions/boot/boot-services.ts";
import { ServiceError } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import { openCliContext } from "../command-line/cli-context.ts";
import { type CliIo, command, UsageError } from "../command-line/command.ts";
import { toWholeNumber } from "../command-line/flag-values.ts";
import { renderTable } from "../command-line/format.ts";
import { installServices, openServiceManager, planServices } from "../operations/service.ts";

const install = command({
  name: "install",
  description:
    "start the coordination server at each login, or with the machine: writes and enables a systemd user unit, on macOS a launchd agent",
  examples: [
    "svc-mgr service install",
    "svc-mgr service install --resume --at-once 2",
    "svc-mgr service install --dry-run",
  ],
  args: {
    resume: { type: "boolean", description: "and then bring agents back as `resume` does" },
    "at-once": { type: "string", valueHint: "N", description: "with --resume: so many start at a time" },
    "dry-run": { type: "boolean", description: "print what would be written, and change nothing" },
  },
  async run({ args, io, inherited, path }) {
    const atOnce = toWholeNumber("at-once", args["at-once"], 1, 100);
    if (atOnce !== undefined && !args.resume) throw new UsageError("--at-once goes with --resume", path);
    const caller = { io, inherited };
    const plans = planServices(caller, { isResuming: args.resume, atOnce });
    const { manager, services, lacks } = plans;
    const document = { schema_version: 1, manager: manager.kind, lacks };
    if (args["dry-run"]) {
      return {
        json: {
          ...document,
          dry_run: true,
          services: services.map(({ name, path: file, text, command: words }) => ({
            name,
            path: file,
            text,
            command: words,
          })),
        },
        text: [
          ...services.flatMap(({ path: file, text }) => [`${visibleLine(file)}:`, "", text]),
          ...lacks,
        ].join("\n"),
      };
    }
    const obstacle = await manager.obstacle();
    if (obstacle !== null) throw noManager(io, obstacle);
    const { states, unstarted, endsAtLogout } = await installServices(caller, plans);
    return {
      json: {
        ...document,
        dry_run: false,
        services: states.map(toDocument),
        started: unstarted === null,
        ends_at_logout: endsAtLogout,
      },
      text: [
        ...services.map(({ path: file }) => `wrote ${visibleLine(file)}`),
        unstarted === null ? "the coordination server runs" : `the server was not started: ${unstarted}`,
        ...(args.resume ? ["agents that are gone are brought back at the next start"] : []),
        ...lacks,
        ...logoutText(endsAtLogout, manager.words.stayAfterLogout),
      ].join("\n"),
    };
  },
});

/** A container, and a login without a session of systemd. */
function noManager({ program }: Pick<CliIo, "program">, obstacle: string): ServiceError {
  return new ServiceError(
    "unavailable",
    `nothing was written: no service manager answers here (${obstacle}). Log in as this user itself and not by su or sudo. In a container have its entry point run: svc-coord serve, and before it: ${program} resume`,
  );
}

function logoutText(endsAtLogout: boolean | null, command: string | null): string[] {
  if (endsAtLogout === false) return [];
  if (command === null) return ["it ends when you log out"];
  const certain = endsAtLogout === true ? "" : ", unless lingering is enabled";
  return [`the server and what it started, agents too, end when you log out${certain}: ${command}`];
}

const toDocument = ({ name, path, file, isEnabled, activity, pid }: ServiceState) => ({
  name,
  path,
  file,
  enabled: isEnabled,
  activity,
  pid,
});

const status = command({
  name: "status",
  description: "say which of these services are installed and what runs",
  examples: ["svc-mgr service status", "svc-mgr service status --json"],
  async run({ io, inherited }) {
    const context = openCliContext(io, inherited);
    const manager = openServiceManager(context, io);
    const obstacle = await manager.obstacle();
    const states = await Promise.all(serviceNames.map(manager.state));
    const endsAtLogout = obstacle === null ? await manager.endsAtLogout() : null;
    const isInstalled = states.some(({ file }) => file === "ours");
    const files = { ours: "yes", other: "by another", absent: "no" } as const;
    const rows = states.map(({ name, file, isEnabled, activity, pid, path }) => [
      name,
      files[file],
      isEnabled === null ? "?" : isEnabled ? "yes" : "no",
      activity ?? "?",
      pid === null ? "-" : String(pid),
      visibleLine(path),
    ]);
    const resume = states.find(({ name }) => name === "svc-resume");
    return {
      json: {
        schema_version: 1,
        manager: manager.kind,
        obstacle,
        services: states.map(toDocument),
        ends_at_logout: endsAtLogout,
      },
      text: [
        renderTable(["SERVICE", "INSTALLED", "ENABLED", "STATE", "PROCESS", "FILE"], rows),
        ...(obstacle === null ? [] : [`no service manager answers here: ${obstacle}`]),
        ...(isInstalled ? logoutText(endsAtLogout, manager.words.stayAfterLogout) : []),
        ...(isInstalled ? [] : [`Install them with: ${io.program} service install`]),
        ...(resume?.activity === "failed" ? [`Not all agents came back: ${manager.words.log}`] : []),
      ].join("\n"),
    };
  },
});

const uninstall = command({
  name: "uninstall",
  description: "end the coordination server of `service install` and remove what that wrote; agents live on",
  examples: ["svc-mgr service uninstall", "svc-mgr service uninstall --json"],
  async run({ io, inherited }) {
    const manager = openServiceManager(openCliContext(io, inherited), io);
    const removed: string[] = [];
    for (const name of serviceNames) if (await manager.remove(name)) removed.push(manager.pathOf(name));
    const left = await Promise.all(serviceNames.map(manager.state));
    const foreign = left.filter(({ file }) => file === "other").map(({ path }) => path);
    const lines = [
      ...removed.map((path) => `removed ${visibleLine(path)}`),
      ...foreign.map((path) => `not ours, and left: ${visibleLine(path)}`),
    ];
    const text = lines.length === 0 ? "nothing was installed" : lines.join("\n");
    return { json: { schema_version: 1, removed, left: foreign }, text };
  },
});

export const serviceCommands = { install, status, uninstall };
