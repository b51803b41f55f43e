import type { TranscriptTurn } from "../../../protocol/transcript.ts";
import { readLastScreen } from "../../../services/extensions/observe/transcript/last-screen.ts";
import { agentPane } from "../../../services/terminal/tmux/command.ts";
import { paneScreen } from "../../../services/terminal/tmux/screen.ts";
import { sleep } from "../../../system/clock.ts";
import { localDateTime } from "../../../system/time-zone.ts";
import { visibleCell } from "../../../system/visible.ts";
import {
  readTranscript,
  renderAnswer,
  renderTurn,
  sourceNote,
  withWholeAnswer,
} from "../../agent/agent-transcript.ts";
import { type CallOf, openTarget } from "../../agent/target.ts";
import { command, UsageError } from "../../command-line/command.ts";
import { CommandFailure, exitCodes } from "../../command-line/dispatch.ts";
import { toWholeNumber } from "../../command-line/flag-values.ts";
import { narrate, warn } from "../../command-line/narrate.ts";
import { withRemedy } from "../../command-line/remedies.ts";
import { nameOnly, toNamed } from "../../command-line/shared-flags.ts";
import { openReadable } from "../../operations/read.ts";

const followIntervalMs = 500;
const maxFollowed = 100;

const log = command({
  name: "log",
  description: "show what the agent was asked and what it answered, oldest first",
  examples: [
    "svc-mgr agents single --agent-name worker log",
    "svc-mgr agents single --agent-name worker log --follow",
    "svc-mgr agents single --agent-name worker log --turn 1 --json",
  ],
  args: {
    turn: {
      type: "string",
      description: "one turn with its whole answer: its id, or its number from the end, 1 for the last",
      valueHint: "N|ID",
    },
    limit: { type: "string", description: "how many turns, at most 100", valueHint: "N", default: "20" },
    follow: {
      type: "boolean",
      alias: "f",
      description: "go on with each turn as it ends, until interrupted",
    },
  },
  async run(invocation) {
    const { args, io, inherited, path } = invocation;
    const limit = toWholeNumber("limit", args.limit, 1, 100) ?? 20;
    if (args.follow && args.turn !== undefined) throw new UsageError("give one of --follow and --turn", path);
    const { context, client, stored } = await openReadable(invocation);
    if (args.turn !== undefined) {
      const turn = await chooseTurn(client, args.turn);
      return { json: turn, text: renderTurn(turn) };
    }
    const page = await readTranscript(client, { limit });
    for (const gap of page.gaps) await warn(io, gap);
    if (!args.follow) {
      const text = page.turns.toReversed().map(renderTurn).join("\n\n");
      return { json: page, text: text === "" ? "no turn yet" : text };
    }
    const json = inherited["json"] === true;
    const shown = new Set<string>();
    const stopped = io.unheard();
    const show = async (turns: readonly TranscriptTurn[]) => {
      for (const turn of turns.toReversed()) {
        if (turn.status === "running" || shown.has(turn.turn_id)) continue;
        shown.add(turn.turn_id);
        const whole = await withWholeAnswer(client, turn);
        await io.writeOut(json ? `${JSON.stringify(whole)}\n` : `${renderTurn(whole)}\n\n`);
      }
    };
    await show(page.turns);
    // Of an agent that ended nothing more comes.
    while (!stopped.aborted && stored?.end == null) {
      await sleep(context.clock, followIntervalMs, stopped);
      if (!stopped.aborted) await show((await readTranscript(client, { limit: maxFollowed })).turns);
    }
    return exitCodes.done;
  },
});

const last = command({
  name: "last",
  description: "print the agent's last answer as it wrote it",
  examples: ["svc-mgr agents single --agent-name worker last"],
  async run(invocation) {
    const { client } = await openReadable(invocation);
    const page = await readTranscript(client, { limit: 20 });
    const found = page.turns.find(({ answer }) => answer !== null);
    if (!found)
      throw new CommandFailure(exitCodes.refused, whyNothing(page.gaps), { error: "not_found", ...page });
    const turn = await withWholeAnswer(client, found);
    const note = sourceNote(turn);
    if (note !== null) await narrate(invocation.io, note);
    return { json: turn, text: renderAnswer(turn) };
  },
});

const search = command({
  name: "search",
  description:
    "show the turns whose prompt or answer has each of these words, newest first; exits 1 when none has",
  examples: ["svc-mgr agents single --agent-name worker search parser"],
  args: {
    text: { type: "positional", required: true, description: "words, in any case" },
    limit: { type: "string", description: "how many turns, at most 100", valueHint: "N", default: "20" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const limit = toWholeNumber("limit", args.limit, 1, 100) ?? 20;
    if (args.text === undefined || args.text.trim() === "")
      throw new UsageError("the text is empty", invocation.path);
    const { client } = await openReadable(invocation);
    const turns: TranscriptTurn[] = [];
    let before: string | undefined;
    for (;;) {
      const asked = {
        limit: limit - turns.length,
        q: args.text,
        ...(before === undefined ? {} : { before }),
      };
      const page = await readTranscript(client, asked);
      turns.push(...page.turns);
      for (const gap of before === undefined ? page.gaps : []) await warn(io, gap);
      if (page.next === null || turns.length >= limit) break;
      before = page.next;
    }
    const lines = turns.map(({ turn_id, started_at_utc, match }) => {
      return `${turn_id}  ${started_at_utc ? localDateTime(started_at_utc) : "-"}  ${match ?? ""}`;
    });
    const exitCode = turns.length === 0 ? exitCodes.refused : exitCodes.done;
    return {
      json: { turns },
      text: lines.length === 0 ? "no turn has these words" : lines.join("\n"),
      exitCode,
    };
  },
});

const screen = command({
  name: "screen",
  description: "show the agent's terminal as it is; of an agent that has ended, as it was last",
  examples: [
    "svc-mgr agents single --agent-name worker screen",
    "svc-mgr agents single --agent-name worker screen --follow",
  ],
  args: {
    follow: { type: "boolean", alias: "f", description: "show it again when it changed, until interrupted" },
  },
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const { context, read } = await openScreen(invocation);
    const json = inherited["json"] === true;
    if (!args.follow) {
      const shown = await read();
      return { json: shown, text: shown.rows.join("\n") };
    }
    const stopped = io.unheard();
    const live = io.stdoutIsTty && !json;
    let shown = "";
    while (!stopped.aborted) {
      const { rows, at_utc } = await read();
      const text = rows.join("\n");
      if (text !== shown) {
        if (json) await io.writeOut(`${JSON.stringify({ rows })}\n`);
        else if (live) {
          // Each row is cleared to its end: nothing flickers, and a row that is too long does not wrap.
          const fitting = rows
            .slice(0, io.rows - 1)
            .map((row) => `${visibleCell(row).slice(0, io.columns - 1)}\x1b[K`);
          await io.writeScreen("stdout", `\x1b[H${fitting.join("\r\n")}\x1b[J`);
        } else await io.writeOut(`${text}\n\f\n`);
      }
      if (at_utc !== undefined) break;
      shown = text;
      await sleep(context.clock, followIntervalMs / 2, stopped);
    }
    return exitCodes.done;
  },
});

export const transcriptCommands = { log, last, search, screen };

/** The same in `svc`. */
export const shortTranscriptCommands = {
  last: command({
    name: "last",
    description: "print the agent's last answer",
    examples: ["svc last worker"],
    args: nameOnly,
    run: (invocation) => last.call(toNamed(invocation), {}),
  }),
  log: command({
    name: "log",
    description: "show what the agent was asked and what it answered",
    examples: ["svc log worker", "svc log worker -f", "svc log worker --turn 1"],
    args: {
      ...nameOnly,
      turn: { ...log.flags.turn, description: "one turn: its id, or 1 for the last" },
      follow: { ...log.flags.follow, description: "go on with each turn as it ends" },
    },
    run: (invocation) => log.call(toNamed(invocation), invocation.args),
  }),
  search: command({
    name: "search",
    description: "show the turns whose prompt or answer has these words",
    examples: ["svc search worker parser"],
    args: { ...nameOnly, text: { ...search.flags.text, many: true } },
    run: (invocation) => search.call(toNamed(invocation), invocation.args),
  }),
  screen: command({
    name: "screen",
    description: "show the agent's terminal as it is",
    examples: ["svc screen worker", "svc screen worker -f"],
    args: { ...nameOnly, follow: { ...screen.flags.follow, description: "show it again when it changed" } },
    run: (invocation) => screen.call(toNamed(invocation), invocation.args),
  }),
};

async function chooseTurn(
  client: Parameters<typeof readTranscript>[0],
  wanted: string,
): Promise<TranscriptTurn> {
  const number = /^[1-9]\d{0,3}$/.test(wanted) ? Number(wanted) : null;
  if (number === null) {
    const query = { offset: 0, max_bytes: 4 * 1024 * 1024 };
    const response = await client.call("transcriptTurn", { params: { turn_id: wanted }, query });
    if (response.kind === "ok") return withWholeAnswer(client, response.body);
    throw new CommandFailure(exitCodes.refused, response.detail, {
      error: "not_found",
      detail: response.detail,
    });
  }
  let left = number;
  let before: string | undefined;
  for (;;) {
    const limit = Math.min(left, maxFollowed);
    const page = await readTranscript(client, { limit, ...(before === undefined ? {} : { before }) });
    const turn = page.turns[left - 1];
    if (turn) return withWholeAnswer(client, turn);
    left -= page.turns.length;
    if (page.next === null) {
      const detail = `there are only ${number - left} turns`;
      throw new CommandFailure(exitCodes.refused, detail, { error: "not_found", detail });
    }
    before = page.next;
  }
}

function whyNothing(gaps: readonly string[]): string {
  return gaps.length === 0 ? "the agent has answered nothing yet" : `no answer is known: ${gaps.join("; ")}`;
}

/** `at_utc`: of the screen that was kept of an agent whose terminal has gone. */
interface ShownScreen {
  rows: string[];
  at_utc?: string;
}

async function openScreen(call: CallOf) {
  const { context, agent, advise } = await openTarget(call);
  const { tmux: place, tmux_session_name: session } = agent.manifest;
  const tmux = context.tmuxFor(place.socket);
  return {
    context,
    async read(): Promise<ShownScreen> {
      const pane = agentPane(await tmux.panes(session), place.primary_pane_id ?? null);
      if (pane) return { rows: await paneScreen(tmux, pane.paneId) };
      const kept = readLastScreen(context.files, agent.sessionRoot);
      if (kept !== null) {
        await warn(call.io, `its terminal has gone; this is what it showed at ${localDateTime(kept.at_utc)}`);
        return { rows: kept.rows, at_utc: kept.at_utc };
      }
      const { agent_name } = agent.manifest;
      const detail = withRemedy(
        `the tmux session ${session} has no pane of the agent any more, and its last screen was not kept`,
        { code: "relaunch_agent", agent_name },
        advise,
      );
      throw new CommandFailure(exitCodes.unreachable, detail, { error: "unreachable", detail });
    },
  };
}
