import { ServiceError } from "../../../system/errors.ts";
import { visibleLine } from "../../../system/visible.ts";

export type ServiceName = "svc-coord" | "svc-resume";

/** A program that a service manager starts when its user logs in, or with the machine. */
export interface ServicePlan {
  name: ServiceName;
  description: string;
  /** The program by its absolute path. */
  command: readonly string[];
  /** Folders of PATH. */
  searchPath: readonly string[];
  /** Variables that the user gives it, as lines of NAME=VALUE; it may be absent. */
  environmentFile: string;
  /** It serves and is started again after a crash; else it runs once and ends. */
  isServer: boolean;
  /** Where launchd writes what it says. */
  logPath: string;
}

/** In each file that we write: no other one is replaced or removed. */
export const mark = "written by svc service install; svc service uninstall removes it";

/**
 * A unit of systemd. Nothing in it is expanded: a path is what it is, whatever its folders are called. Only the
 * program itself is ended with it, since agents, gateways and tmux are in its group. Pure; throws
 * `precondition_failed` as `plainText`.
 */
export function renderUnit(plan: ServicePlan): string {
  const [program = ""] = plan.command;
  if (/["'\\*?[]/.test(program)) {
    const why = "move it into a folder without quotation marks, backslashes, *, ? and [";
    throw new ServiceError("precondition_failed", `systemd starts no program called ${program}: ${why}`);
  }
  const command = plan.command.map(unitWord).join(" ");
  return `# ${mark}
[Unit]
Description=${plan.description}
${plan.isServer ? "StartLimitIntervalSec=60\nStartLimitBurst=5" : "After=svc-coord.service"}

[Service]
Type=${plan.isServer ? "simple" : "oneshot"}
WorkingDirectory=/
Environment=${unitWord(`PATH=${plan.searchPath.join(":")}`)}
EnvironmentFile=-${plainText(plan.environmentFile).replaceAll("%", "%%")}
ExecStart=:${command}
KillMode=process
${plan.isServer ? "Restart=on-failure\nRestartSec=5" : "RemainAfterExit=yes\nTimeoutStartSec=infinity"}

[Install]
WantedBy=default.target
`;
}

/** As a word of ExecStart and of Environment. Pure. */
function unitWord(text: string): string {
  const literal = plainText(text).replaceAll("%", "%%");
  if (/^[\w@%+=:,./-]+$/.test(literal)) return literal;
  return `"${literal.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** A property list of launchd, which has no file of variables: a shell reads it. Pure; throws as `renderUnit`. */
export function renderPropertyList(plan: ServicePlan): string {
  const script = 'set -a; test ! -r "$0" || . "$0"; exec "$@"';
  const words = ["/bin/sh", "-c", script, plan.environmentFile, ...plan.command];
  const text = (value: string) => `<string>${xmlText(value)}</string>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${mark} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(plan.name)}
  <key>ProgramArguments</key>
  <array>
${words.map((word) => `    ${text(word)}`).join("\n")}
  </array>
  <key>WorkingDirectory</key>
  <string>/</string>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    ${text(plan.searchPath.join(":"))}
  </dict>
  <key>StandardOutPath</key>
  ${text(plan.logPath)}
  <key>StandardErrorPath</key>
  ${text(plan.logPath)}
  <key>RunAtLoad</key>
  <true/>
${plan.isServer ? "  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n" : ""}  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`;
}

const xmlText = (text: string): string =>
  plainText(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Throws `precondition_failed` for a text with a control character, which would be a line of its file. */
function plainText(text: string): string {
  if (text === visibleLine(text)) return text;
  throw new ServiceError(
    "precondition_failed",
    `a service cannot be written with ${visibleLine(text)}: it has a control character`,
  );
}
