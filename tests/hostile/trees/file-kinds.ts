import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import { AcpAnswer, AcpBridgeRecord, AcpNextTurn, AcpQuestion } from "../../../src/protocol/acp.ts";
import { CoordinatorInstance } from "../../../src/protocol/coordinator.ts";
import { GatewayEvent } from "../../../src/protocol/events.ts";
import {
  AttachContract,
  CurrentInstance,
  DesiredConfig,
  GatewayManifest,
  Manifest,
} from "../../../src/protocol/files.ts";
import { GatewayStatus } from "../../../src/protocol/gateway.ts";
import { MailEnvelope } from "../../../src/protocol/mail-file.ts";
import { ToolProfileFile } from "../../../src/protocol/tool-profile.ts";
import { ToolReportSchema } from "../../../src/protocol/tool-report.ts";
import {
  CanonicalEvent,
  TurnInterrupt,
  TurnProcess,
  TurnRequest,
  TurnResult,
} from "../../../src/protocol/turn-files.ts";
import { signalPaths } from "../../../src/services/extensions/bridges/signals/spool-source.ts";
import { bridgePaths, questionPaths } from "../../../src/services/headless/acp-files.ts";
import { turnPaths } from "../../../src/services/headless/turn-directory.ts";
import { keyFileName } from "../../../src/services/mail/filesystem/registration/mailbox-keys.ts";
import { rootPaths, stateFileName } from "../../../src/services/mail/filesystem/root-paths.ts";
import { transcriptPaths } from "../../../src/services/sessions/conversations.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { skills } from "../../../src/services/skills/catalog.ts";
import { recordPath, skillPath } from "../../../src/services/skills/ownership.ts";
import { lockPaths, treePaths } from "./template.ts";

/** Which commands read a file: a tree with something planted in it is met by these. */
export type Area = "mail" | "session" | "turn" | "skills" | "profile" | "brain" | "coordinator" | "any";

/** How the content of a file is laid out, which says how a value is planted in it. */
type Layout = "json" | "json-lines" | "front-matter" | "sqlite" | "text";

/** One kind of file that svc reads below a working tree. */
export interface FileKind {
  name: string;
  layout: Layout;
  /** Of the document, of one line, or of the front matter. Without it the fields are those of the sample. */
  schema?: TSchema;
  area: Area;
  /** Every file of this kind in the template. Absolute. */
  paths: string[];
}

/** An object of texts whose keys the file chooses. */
const textRecord = Type.Record(Type.String(), Type.String());

/**
 * All kinds of files in the template at `tree`. What the product names in its own tables of paths is taken
 * from there.
 */
export function fileKinds(tree: string): FileKind[] {
  const paths = treePaths(tree);
  const mail = rootPaths(paths.mailbox);
  const inTurns = (name: keyof ReturnType<typeof turnPaths>) =>
    paths.turns.map((folder) => turnPaths(folder)[name]);
  const inAcp = (name: keyof ReturnType<typeof bridgePaths>) => bridgePaths(paths.sessions[2] ?? "")[name];
  const acpTurn = questionPaths(paths.turns[1] ?? "");
  const inTranscripts = (name: keyof ReturnType<typeof transcriptPaths>) =>
    paths.sessions.map((root) => transcriptPaths(root)[name]);
  const below = (folder: string, ending: string) =>
    filesBelow(folder).filter((path) => path.endsWith(ending));
  const inSessions = (pick: (of: ReturnType<typeof sessionPaths>) => string) =>
    paths.sessions.map((root) => pick(sessionPaths(root)));
  const inSignals = (name: keyof ReturnType<typeof signalPaths>) =>
    paths.sessions.map((root) => signalPaths(root)[name]);
  const kind = (
    name: string,
    layout: Layout,
    area: Area,
    files: string | string[],
    schema?: TSchema,
  ): FileKind => ({
    name,
    layout,
    area,
    ...(schema ? { schema } : {}),
    paths: [files].flat(),
  });
  return [
    kind(
      "manifest.json",
      "json",
      "session",
      inSessions((of) => of.manifest),
      Manifest,
    ),
    kind(
      "gateway/attach.json",
      "json",
      "session",
      inSessions((of) => of.attach),
      AttachContract,
    ),
    kind(
      "gateway_manifest.json",
      "json",
      "session",
      inSessions((of) => of.gatewayManifest),
      GatewayManifest,
    ),
    kind(
      "desired-config.json",
      "json",
      "session",
      inSessions((of) => of.desiredConfig),
      DesiredConfig,
    ),
    kind(
      "gateway/protocol-version.txt",
      "text",
      "session",
      inSessions((of) => of.protocolVersion),
    ),
    kind(
      "gateway/state.json",
      "json",
      "session",
      inSessions((of) => of.state),
      GatewayStatus,
    ),
    kind(
      "gateway/queue.sqlite",
      "sqlite",
      "session",
      inSessions((of) => of.queue),
    ),
    kind(
      "gateway/events.jsonl",
      "json-lines",
      "session",
      inSessions((of) => of.events),
      GatewayEvent,
    ),
    kind(
      "gateway/logs/gateway.log",
      "text",
      "session",
      inSessions((of) => of.gatewayLog),
    ),
    kind(
      "run/current-instance.json",
      "json",
      "session",
      inSessions((of) => of.currentInstance),
      CurrentInstance,
    ),
    kind(
      "run/gateway.pid",
      "text",
      "session",
      inSessions((of) => of.pidFile),
    ),
    kind(
      "run/token",
      "text",
      "session",
      inSessions((of) => of.token),
    ),
    kind(
      "run/challenge-key",
      "text",
      "session",
      inSessions((of) => of.challengeKey),
    ),
    kind(
      "run/last-port",
      "text",
      "session",
      inSessions((of) => of.lastPort),
    ),
    kind(
      "launch-environment.json",
      "json",
      "session",
      paths.sessions.map((root) => join(root, "launch-environment.json")),
      textRecord,
    ),
    kind("signals/reports.jsonl", "json-lines", "session", inSignals("spool"), ToolReportSchema),
    kind("signals/reports.1.jsonl", "json-lines", "session", inSignals("rotated"), ToolReportSchema),
    kind("signals/cursor.json", "json", "session", inSignals("cursor")),
    kind("signals/claude-settings.json", "json", "session", inSignals("claudeSettings")),
    kind("signals/opencode-plugin.js", "text", "session", inSignals("opencodePlugin")),
    kind("signals/opencode.json", "json", "session", inSignals("opencodeConfig")),
    kind("gateway/attach.lock", "text", "session", inSessions(lockPaths.attach)),
    kind("run/gateway.lock", "text", "session", inSessions(lockPaths.gateway)),
    kind("turn.lock", "text", "turn", inTurns("lock")),
    kind("locks/index.lock", "text", "mail", join(paths.mailbox, "locks", "index.lock")),
    kind("request.json", "json", "turn", inTurns("request"), TurnRequest),
    kind("process.json", "json", "turn", inTurns("process"), TurnProcess),
    kind("interrupt.json", "json", "turn", inTurns("interrupt"), TurnInterrupt),
    kind("result.json", "json", "turn", inTurns("result"), TurnResult),
    kind("exitcode", "text", "turn", inTurns("exitCode")),
    kind("stdout.jsonl", "json-lines", "turn", inTurns("stdout")),
    kind("stderr.log", "text", "turn", inTurns("stderr")),
    kind("prompt.txt", "text", "turn", inTurns("prompt")),
    kind("canonical-events.jsonl", "json-lines", "turn", inTurns("events"), CanonicalEvent),
    kind("acp/host.json", "json", "turn", inAcp("host"), AcpBridgeRecord),
    kind("acp/next.json", "json", "turn", inAcp("next"), AcpNextTurn),
    kind("acp/host.lock", "text", "turn", inAcp("lock")),
    kind("question.json", "json", "turn", acpTurn.question, AcpQuestion),
    kind("answer.json", "json", "turn", acpTurn.answer, AcpAnswer),
    kind("transcript/conversations.json", "json", "session", inTranscripts("conversations")),
    kind("transcript/screen-turns.jsonl", "json-lines", "session", inTranscripts("screen")),
    kind("transcript/last-screen.json", "json", "session", inTranscripts("lastScreen")),
    kind("transcript/screen-turns.1.jsonl", "json-lines", "session", inTranscripts("screenBefore")),
    kind("index.sqlite", "sqlite", "mail", mail.index),
    kind("mailbox.sqlite", "sqlite", "mail", below(mail.mailboxes, stateFileName)),
    kind("attestation.key", "text", "mail", below(mail.mailboxes, keyFileName)),
    kind("mailbox/protocol-version.txt", "text", "mail", mail.protocolVersion),
    kind("messages/<date>/<id>.md", "front-matter", "mail", below(mail.messages, ".md"), MailEnvelope),
    kind("mailboxes/<address>/<box>/<id>.md", "text", "mail", below(mail.mailboxes, ".md")),
    kind("attachments/managed", "text", "mail", filesBelow(mail.attachments)),
    kind("rules", "text", "mail", below(mail.rules, ".md")),
    kind("svc-skill-config.json", "json", "skills", recordPath({ tool: "claude", home: paths.toolHome })),
    kind(
      "SKILL.md",
      "text",
      "skills",
      skills.map(({ name }) => skillPath(paths.toolHome, name)),
    ),
    kind("profiles.json", "json", "profile", paths.profiles, ToolProfileFile),
    kind("brain manifest", "json", "brain", paths.brain),
    kind("role of a definition folder", "text", "brain", paths.role),
    kind("role file", "text", "session", paths.roleFile),
    kind(
      "coordinators/.../current-instance.json",
      "json",
      "coordinator",
      paths.coordinator.instance,
      CoordinatorInstance,
    ),
    kind("coordinators/.../token", "text", "coordinator", paths.coordinator.token),
    kind("coordinators/.../challenge-key", "text", "coordinator", paths.coordinator.challengeKey),
    kind("coordinators/.../token-required", "text", "coordinator", paths.coordinator.tokenRequired),
    kind("coordinators/.../coordinator.lock", "text", "coordinator", paths.coordinator.lock),
    kind("coordinators/.../coordinator.log", "text", "coordinator", paths.coordinator.log),
    kind(".svc/.gitignore", "text", "any", join(paths.overlay, ".gitignore")),
    kind(".git", "text", "any", [join(tree, ".git", "HEAD"), join(tree, ".git", "config")]),
  ];
}

/** Files that have no content of their own to plant in: they are only replaced. */
const withoutContent = /\.lock$|-(?:wal|shm|journal)$/;

/** Every regular file below a folder. Absolute, sorted. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found?.isDirectory()) return filesBelow(path);
      return found?.isFile() && !withoutContent.test(basename(path)) ? [path] : [];
    });
}
