import { dirname, resolve } from "node:path";
import { DesiredRecorder } from "../../../protocol/files.ts";
import type { RecorderUpdate } from "../../../protocol/recorder.ts";
import { toRemedyRecord } from "../../../protocol/remedy.ts";
import { readCast, readMoment, renderCast } from "../../../services/extensions/observe/recorder/reader.ts";
import {
  saveRecorderWish,
  toRecorderStatus,
} from "../../../services/extensions/observe/recorder/recorder-control.ts";
import { explainWait } from "../../../services/fleet/explain-wait.ts";
import { openStoredSession } from "../../../services/fleet/stored-session.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import { toTimestamp } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { visibleLine } from "../../../system/visible.ts";
import {
  blockText,
  bodyOf,
  type CallOf,
  openMaybeLive,
  openTarget,
  type Target,
} from "../../agent/target.ts";
import { renderExplanation } from "../../agent/terminal-text.ts";
import { type Answer, command, UsageError } from "../../command-line/command.ts";
import { CommandFailure, exitCodes } from "../../command-line/dispatch.ts";
import { toSeconds } from "../../command-line/flag-values.ts";
import { renderPairs } from "../../command-line/format.ts";
import { warn } from "../../command-line/narrate.ts";
import { sentenceWithCommand, withRemedy } from "../../command-line/remedies.ts";
import { nameOnly, toNamed } from "../../command-line/shared-flags.ts";
import { parseMoment, parseSize, parseSpan } from "../../extensions/observe/moment.ts";
import { renderMoment, renderRecorder } from "../../extensions/observe/moment-text.ts";
import { playCast } from "../../extensions/observe/replay-screen.ts";
import { wakesText } from "./notifier.ts";

const actions = ["on", "off", "status"] as const;

const record = command({
  name: "record",
  description:
    "switch the flight recorder of the agent on or off: what its terminal shows and why it waits, kept on this machine",
  examples: [
    "svc-mgr agents single --agent-name worker record on",
    "svc-mgr agents single --agent-name worker record on --max-size 1G --max-age 30d",
    "svc-mgr agents single --agent-name worker record status",
  ],
  args: {
    action: { type: "positional", description: "on, off or status", words: actions },
    "max-size": {
      type: "string",
      description: "bytes on disk; the oldest part goes beyond them (default 256M)",
      valueHint: "SIZE",
    },
    "max-age": { type: "string", description: "how long it is kept (default 7d)", valueHint: "SPAN" },
  },
  async run(invocation) {
    const { args, io, path } = invocation;
    const action = actions.find((one) => one === args.action);
    if (action === undefined) throw new UsageError(`say on, off or status, not "${args.action}"`, path);
    const maxBytes = parseSize("max-size", args["max-size"]);
    const maxAge = parseSpan("max-age", args["max-age"]);
    if (action !== "on" && (maxBytes ?? maxAge) !== undefined) {
      throw new UsageError("--max-size and --max-age go with on", path);
    }
    const { max_bytes, max_age_seconds } = DesiredRecorder.properties;
    if (isBeyond(maxBytes, max_bytes)) throw new UsageError("--max-size is 1M to 1024G", path);
    if (isBeyond(maxAge, max_age_seconds)) throw new UsageError("--max-age is 60s to 3660d", path);
    const { target, link, why } = await openMaybeLive(invocation);
    const { files } = target.context;
    const { sessionRoot } = target.agent;
    if (action !== "status") {
      const wish: RecorderUpdate = {
        enabled: action === "on",
        ...(maxBytes === undefined ? {} : { max_bytes: maxBytes }),
        ...(maxAge === undefined ? {} : { max_age_seconds: maxAge }),
      };
      if (link === null) {
        saveRecorderWish(files, sessionRoot, wish);
        if (action === "on") await warn(io, `it begins with the next gateway: ${why}`);
      } else {
        const json = bodyOf(await link.client.call("updateRecorder", { body: wish }));
        return { json, text: renderRecorder(json) };
      }
    }
    const json = link
      ? bodyOf(await link.client.call("readRecorder", {}))
      : toRecorderStatus(files, sessionRoot, null);
    return { json, text: renderRecorder(json) };
  },
});

const isBeyond = (value: number | undefined, { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }) =>
  value !== undefined && (value < minimum || value > maximum);

const timeFlag = {
  type: "string",
  description: 'a moment: 03:12, "10m ago", or a date with a time',
  valueHint: "TIME",
} as const;

const replay = command({
  name: "replay",
  description: "show in this terminal what the agent's terminal showed, or write it as an asciicast v2 file",
  examples: [
    "svc-mgr agents single --agent-name worker replay --at 03:12",
    'svc-mgr agents single --agent-name worker replay --at "10m ago" --speed 4',
    "svc-mgr agents single --agent-name worker replay --at 03:00 --until 03:30 --cast night.cast",
  ],
  args: {
    at: { ...timeFlag, description: `${timeFlag.description}; default: a minute before the last` },
    until: { ...timeFlag, description: "the last moment; default: now" },
    speed: { type: "string", description: "how many times faster", valueHint: "N", default: "1" },
    "max-pause": {
      type: "string",
      description: "a longer pause is shortened to so many seconds",
      valueHint: "SECONDS",
      default: "2",
    },
    cast: {
      type: "string",
      description: "write an asciicast v2 file instead; with --json its lines go to standard output",
      valueHint: "FILE",
    },
  },
  async run(invocation) {
    const { args, io, inherited, path } = invocation;
    const speed = toSeconds("speed", args.speed, 0.1, 1000);
    const maxPauseMs = toSeconds("max-pause", args["max-pause"], 0, 3600) * 1000;
    const json = inherited["json"] === true;
    if (args.cast?.trim() === "") throw new UsageError("--cast is empty", path);
    const { context, agent } = await openTarget(invocation);
    const { files, clock } = context;
    const nowMs = clock.nowMs();
    const untilMs = args.until === undefined ? nowMs : parseMoment("until", args.until, nowMs);
    const fromMs = args.at === undefined ? untilMs - defaultSpanMs : parseMoment("at", args.at, nowMs);
    if (fromMs > nowMs) throw new UsageError(`--at ${args.at} has not come yet`, path);
    if (untilMs < fromMs) throw new UsageError("--until is before --at", path);
    const { gatewayRoot } = sessionPaths(agent.sessionRoot);
    const title = agent.manifest.agent_name;
    const cast = readCast(files, gatewayRoot, { fromMs, untilMs, agentName: title });
    if (json) {
      for (const { line } of renderCast(cast, title)) await io.writeOut(line);
      return exitCodes.done;
    }
    if (args.cast !== undefined) {
      const file = resolve(io.cwd, args.cast);
      const lines = await writeCast(files, file, renderCast(cast, title));
      return { json: { file, lines }, text: `wrote ${lines} lines to ${file}` };
    }
    if (!io.stdoutIsTty) {
      const detail = "this is no terminal; give --cast FILE or --json";
      throw new CommandFailure(exitCodes.refused, detail, { error: "not_a_terminal", detail });
    }
    if (cast.width > io.columns || cast.height > io.rows) {
      await warn(io, `recorded in ${cast.width}x${cast.height}, this terminal is ${io.columns}x${io.rows}`);
    }
    await playCast(io, cast, { clock, speed, maxPauseMs, signal: io.unheard() });
    return exitCodes.done;
  },
});

const defaultSpanMs = 60_000;

async function writeCast(files: Files, path: string, lines: Iterable<{ line: string }>): Promise<number> {
  let count = 0;
  const file = await files.createInBackground("file:cast", path).catch((error: unknown) => {
    const { code } = error as { code?: string };
    if (code === "EEXIST") throw new ServiceError("conflict", `${path} is there already; name another file`);
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new ServiceError(
        "not_found",
        `${dirname(path)} is no folder; make it with mkdir -p, or name another`,
      );
    throw error;
  });
  try {
    for (const { line } of lines) {
      await file.write(Buffer.from(line));
      count += 1;
    }
  } finally {
    await file.close();
  }
  return count;
}

const why = command({
  name: "why",
  description:
    "say what keeps the agent from taking a prompt and mail from waking it, or kept it at a recorded moment: each fact, the queue, the events before",
  examples: [
    "svc-mgr agents single --agent-name worker why",
    "svc-mgr agents single --agent-name worker why --at 03:12",
    'svc-mgr agents single --agent-name worker why --at "10m ago" --json',
  ],
  args: {
    at: { ...timeFlag, description: `${timeFlag.description}; it must be recorded. Default: now, live` },
  },
  async run(invocation) {
    const { args } = invocation;
    if (args.at === undefined) return whyNow(invocation);
    const { context, agent } = await openTarget(invocation);
    const nowMs = context.clock.nowMs();
    const atMs = parseMoment("at", args.at, nowMs);
    const { gatewayRoot } = sessionPaths(agent.sessionRoot);
    const agentName = agent.manifest.agent_name;
    const json = readMoment(context.files, gatewayRoot, { atMs, nowMs, agentName });
    const line = atMs > nowMs ? null : `svc replay ${agentName} --at ${toTimestamp(atMs)}`;
    return { json, text: renderMoment(json, line) };
  },
});

async function whyNow(call: CallOf): Promise<Answer> {
  const { target, link, ...unserved } = await openMaybeLive(call);
  if (link === null) return whyUnserved(target, unserved as Unserved);
  const { agent } = target;
  const { status, terminal } = bodyOf(await link.client.call("snapshot", { query: { limit: 1 } }));
  const notifier = bodyOf(await link.client.call("readNotifier", {}));
  const headless = agent.manifest.headless !== undefined;
  const explanation = headless ? null : bodyOf(await link.client.call("explain", {}));
  const cause = explainWait(agent, { status, terminal });
  const { waiting, admission_block: block, queue_depth: depth } = status;
  const queue = renderPairs([
    ["queue", depth === 0 ? "nothing" : String(depth)],
    ["waits", waiting ? `${waiting.reason}: ${waiting.detail}, since ${waiting.since_utc}` : null],
    ["admission", block ? `${block.reason}: ${blockText(target, status)}` : null],
    ["mail", wakesText(notifier)],
  ]);
  return {
    json: {
      sentence: cause.sentence,
      ...(cause.remedy === null ? {} : { remedy: toRemedyRecord(cause.remedy) }),
      explanation,
      queue_depth: depth,
      waiting: waiting ?? null,
      admission_block: block ?? null,
      request_admission: status.request_admission,
      wake_obstacles: notifier.wake_obstacles ?? null,
      last_notification_at_utc: notifier.last_notification_at_utc,
    },
    text: [
      visibleLine(sentenceWithCommand(cause, target.advise)),
      "",
      queue,
      ...(explanation ? ["", renderExplanation(explanation)] : []),
    ].join("\n"),
  };
}

type Unserved = Pick<Extract<Awaited<ReturnType<typeof openMaybeLive>>, { link: null }>, "why" | "diagnosis">;

/** What the files say of an agent that no gateway serves. */
function whyUnserved({ context, agent, advise }: Target, { why, diagnosis }: Unserved): Answer {
  const stored = openStoredSession(context, agent, { diagnosis, why });
  const { queue_depth: depth, admission_block: block } = stored.status();
  const { agent_name } = agent.manifest;
  const end = stored.end && `"${agent_name}" does not run: ${stored.end.how}, seen at ${stored.end.atUtc}`;
  const lost = stored.requests({ limit: 1000 }).find(({ evidence }) => evidence.at(-1)?.agent_ended);
  return {
    json: {
      explanation: null,
      queue_depth: depth,
      waiting: null,
      admission_block: block ?? null,
      request_admission: "blocked_unavailable",
      ended: stored.end && { how: stored.end.how, at_utc: stored.end.atUtc },
    },
    text: [
      end === null ? why : withRemedy(end, diagnosis.remedy, advise),
      renderPairs([
        ["queue", depth === 0 ? "nothing" : `${depth}, kept on disk`],
        ["cut short", lost && `the turn of ${lost.request_id}`],
        ["admission", block && `${block.reason}: ${block.detail}`],
      ]),
    ].join("\n"),
  };
}

export const recorderCommands = { record, replay, why };

/** The same in `svc`. */
export const shortRecorderCommands = {
  why: command({
    name: "why",
    description:
      "say what keeps the agent from taking a prompt and mail from waking it, or kept it at a recorded moment",
    examples: ["svc why worker", "svc why worker --at 03:12", 'svc why worker --at "10m ago"'],
    args: { ...nameOnly, at: timeFlag },
    run: (invocation) => why.call(toNamed(invocation), invocation.args),
  }),
  record: command({
    name: "record",
    description: "record what the agent's terminal shows and why it waits: on, off or status",
    examples: ["svc record worker on", "svc record worker on --max-size 1G", "svc record worker status"],
    args: {
      ...nameOnly,
      ...record.flags,
      "max-size": { ...record.flags["max-size"], description: "bytes on disk (default 256M)" },
    },
    run: (invocation) => record.call(toNamed(invocation), invocation.args),
  }),
  replay: command({
    name: "replay",
    description: "show what the agent's terminal showed, or write it as an asciicast file",
    examples: ["svc replay worker --at 03:12 --speed 4", "svc replay worker --at 03:00 --cast night.cast"],
    args: {
      ...nameOnly,
      at: replay.flags.at,
      until: replay.flags.until,
      speed: replay.flags.speed,
      cast: { ...replay.flags.cast, description: "write an asciicast v2 file instead" },
    },
    run: (invocation) => replay.call(toNamed(invocation), invocation.args),
  }),
};
