import type { RequestRecord } from "../../../protocol/gateway.ts";
import { cutText } from "../../../system/text-columns.ts";
import { visibleLine } from "../../../system/visible.ts";
import { renderPrompts, renderRequest, stateForPeople, textOfPrompt } from "../../agent/agent-requests.ts";
import { type AgentCaller, bodyOf, toCaller } from "../../agent/target.ts";
import { type Answer, command, UsageError } from "../../command-line/command.ts";
import { confirmed } from "../../command-line/confirm.ts";
import { CommandFailure, exitCodes } from "../../command-line/dispatch.ts";
import { readId, wordsOf } from "../../command-line/flag-values.ts";
import { renderTable } from "../../command-line/format.ts";
import { sentenceWithCommand } from "../../command-line/remedies.ts";
import { listFailed, listWaiting, resubmitPrompts, withdrawPrompts } from "../../operations/queue.ts";
import { listRequests, openReadable } from "../../operations/read.ts";

const list = command({
  name: "list",
  description:
    "list the requests in the gateway's queue, newest first, also when none runs; with --waiting what waits, the next one first, with its text",
  examples: [
    "svc-mgr agents single --agent-name worker requests list",
    "svc-mgr agents single --agent-name worker requests list --waiting",
  ],
  args: {
    waiting: { type: "boolean", description: "only what waits, with number, text, reason and submitter" },
  },
  async run(invocation) {
    if (invocation.args.waiting) return answerWaiting(toCaller(invocation));
    const list = await listRequests(invocation);
    const rows = list.requests.map((one) => [
      one.request_id,
      one.request_kind,
      stateForPeople(one),
      one.accepted_at_utc,
      one.error_detail ?? one.waiting?.reason ?? lastStepOf(one),
    ]);
    return {
      json: list,
      text:
        rows.length === 0
          ? "no requests yet"
          : renderTable(["REQUEST", "KIND", "STATE", "ACCEPTED", "NOTE"], rows),
    };
  },
});

/** What was seen last of it; of an interrupt, what it came to. */
function lastStepOf({ request_kind: kind, result_json: result, evidence }: RequestRecord): string {
  const outcome = kind === "interrupt" ? result?.["outcome"] : undefined;
  return typeof outcome === "string" ? outcome : (evidence.at(-1)?.step ?? "");
}

const show = command({
  name: "show",
  description: "show one request, how far it got and what proved it, also when no gateway runs",
  examples: ["svc-mgr agents single --agent-name worker requests show gwreq-20261121-044700Z-0a1b2c3d"],
  args: { id: { type: "positional", description: "the request's id", offers: "request-ids" } },
  async run(invocation) {
    const params = { request_id: readId(invocation.args.id, invocation.path) };
    const { client } = await openReadable(invocation);
    const record = bodyOf(await client.call("readRequest", { params }));
    return { json: record, text: renderRequest(record) };
  },
});

async function answerWaiting(caller: AgentCaller): Promise<Answer> {
  const { io } = caller;
  const { target, requests, explanation } = await listWaiting(caller);
  const json = { schema_version: 1, requests };
  if (requests.length === 0) return { json, text: "nothing waits" };
  const { columns } = io;
  const table = renderPrompts(requests, { columns, nowMs: target.context.clock.nowMs() });
  if (explanation === null) return { json, text: table };
  return { json, text: `${visibleLine(sentenceWithCommand(explanation, target.advise))}\n\n${table}` };
}

const requestWords = {
  type: "positional",
  many: true,
  required: false,
  description: "numbers, as `requests list --waiting` shows them, or ids",
  offers: "request-ids",
} as const;

const withdraw = command({
  name: "withdraw",
  description: "take back prompts that wait: they are never typed; an agent takes back its own only",
  examples: [
    "svc-mgr agents single --agent-name worker requests withdraw 12 14",
    "svc-mgr agents single --agent-name worker requests withdraw --all",
  ],
  args: {
    requests: requestWords,
    all: { type: "boolean", description: "every prompt that waits" },
  },
  async run(invocation) {
    const { args, io, path } = invocation;
    const words = wordsOf(args.requests);
    if (words.length > 0 === (args.all ?? false)) {
      throw new UsageError("give numbers or ids of requests, or --all", path);
    }
    const result = await withdrawPrompts(toCaller(invocation), args.all ? "all" : words);
    const { withdrawn, refused } = result;
    const lines = withdrawn.map((one) => {
      const start = `withdrew ${one.number ?? one.request_id}: `;
      return start + cutText(visibleLine(textOfPrompt(one)), Math.max(io.columns - start.length, leastText));
    });
    for (const { request, detail } of refused) lines.push(`not withdrawn: ${request}: ${detail}`);
    return {
      json: { schema_version: 1, ...result },
      text: lines.length === 0 ? "nothing waits" : lines.join("\n"),
      exitCode: refused.length > 0 ? exitCodes.refused : exitCodes.done,
    };
  },
});

const leastText = 20;

const resubmit = command({
  name: "resubmit",
  description:
    "submit again, as new requests, prompts that failed or have an unknown outcome, after showing them; without numbers those after which nobody gave new work",
  examples: [
    "svc-mgr agents single --agent-name worker requests resubmit",
    "svc-mgr agents single --agent-name worker requests resubmit 12 --yes",
  ],
  args: {
    requests: requestWords,
    yes: { type: "boolean", alias: "y", description: "do not ask" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const caller = toCaller(invocation);
    const words = wordsOf(args.requests);
    const { target, requests } = await listFailed(caller, words);
    const unknown = words.filter(
      (word) => !requests.some((one) => word === one.request_id || word === String(one.number)),
    );
    if (unknown.length > 0) {
      const detail = `no prompt failed, or it was submitted again already: ${unknown.join(", ")}`;
      throw new CommandFailure(exitCodes.refused, detail, { error: "not_found", detail });
    }
    const known = requests.filter(({ prompt }) => prompt !== undefined);
    if (known.length === 0) {
      return {
        json: { schema_version: 1, resubmitted: [] },
        text: "nothing failed that was not submitted again",
      };
    }
    const nowMs = target.context.clock.nowMs();
    await io.writeError(`${renderPrompts(known, { columns: io.columns, nowMs })}\n`);
    const mayRepeat = known.some(({ result_json: result }) => result?.["outcome"] === "unknown")
      ? " The agent may have begun what has an unknown outcome."
      : "";
    const what = known.length === 1 ? "this prompt" : `these ${known.length} prompts`;
    await confirmed(io, `Submit ${what} again?${mayRepeat}`, args.yes ?? false);
    const resubmitted = (await resubmitPrompts(caller, known)).map(({ request, accepted }) => ({
      of_request_id: request.request_id,
      ...accepted,
    }));
    return {
      json: { schema_version: 1, resubmitted },
      text: resubmitted.map(({ of_request_id: of, request_id: id }) => `accepted ${id} for ${of}`).join("\n"),
    };
  },
});

export const requestCommands = { list, show, withdraw, resubmit };
