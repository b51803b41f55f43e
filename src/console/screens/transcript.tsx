import { useState } from "preact/hooks";
import type { TranscriptTurn } from "../../protocol/transcript.ts";
import type { TokenUsage } from "../../protocol/usage.ts";
import { call } from "../api.ts";
import { Ago, Empty, Failure, useLoaded } from "../parts/pieces.tsx";
import { Prose } from "../parts/prose.tsx";
import { brief, clip, count, sumOf, tokensInWords, words } from "../state/format.ts";
import { revisions } from "../store.ts";

/** What the agent was asked and what it answered, newest turn first. */
export function Transcript({ id }: { id: string }) {
  const revision = revisions.value.get(id) ?? 0;
  const [query, setQuery] = useState("");
  const [pages, setPages] = useState<{ turns: TranscriptTurn[]; next: string | null } | null>(null);
  const q = query.trim();
  const newest = useLoaded(`${id} ${q}`, revision, () =>
    call("agentTranscript", { params: { agent_ref: id }, query: { limit: 20, ...(q === "" ? {} : { q }) } }),
  );
  const turns = [...(newest.value?.turns ?? []), ...(pages?.turns ?? [])];
  const next = pages === null ? (newest.value?.next ?? null) : pages.next;
  const older = async () => {
    if (next === null) return;
    const answer = await call("agentTranscript", {
      params: { agent_ref: id },
      query: { limit: 20, before: next, ...(q === "" ? {} : { q }) },
    });
    if (answer.ok)
      setPages({ turns: [...(pages?.turns ?? []), ...answer.value.turns], next: answer.value.next });
  };
  return (
    <div class="transcript">
      <input
        type="search"
        aria-label="Find in the transcript"
        placeholder="Find in the transcript"
        value={query}
        onInput={(event) => {
          setPages(null);
          setQuery(event.currentTarget.value);
        }}
      />
      {newest.failure ? <Failure detail={newest.failure} retry={newest.reload} /> : null}
      {newest.value?.gaps.map((gap) => (
        <p key={gap} class="notice">
          {gap}
        </p>
      ))}
      {newest.value !== null && turns.length === 0 ? (
        <Empty title={q === "" ? "No turn yet" : "No turn has these words"} />
      ) : null}
      {turns.map((turn) => (
        <Turn key={turn.turn_id} turn={turn} />
      ))}
      {next === null ? null : (
        <button type="button" onClick={() => void older()}>
          Older turns
        </button>
      )}
    </div>
  );
}

/** All tokens of a turn; by model on hover. */
function TurnTokens({ usage }: { usage: readonly TokenUsage[] }) {
  const { input_tokens, output_tokens } = sumOf(usage);
  const byModel = usage.map((one) => `${one.model ?? "a model without a name"}: ${tokensInWords(one)}`);
  return (
    <span class="quiet" title={byModel.join("\n")}>
      {brief(input_tokens + output_tokens)} tokens
    </span>
  );
}

function Turn({ turn }: { turn: TranscriptTurn }) {
  return (
    <article class="turn">
      <header>
        {/* Of a turn that the screen showed it is known that it ended, and not how. */}
        <span class={`tag ${turn.status}`}>
          {turn.status === "unknown" && turn.source === "screen" ? "ended" : words(turn.status)}
        </span>
        <Ago at={turn.started_at_utc} />
        <span class="quiet" title={turn.evidence}>
          {turn.source === "screen"
            ? "from its screen"
            : turn.source === "tool"
              ? "from the tool's record"
              : "headless"}
        </span>
        {turn.usage ? <TurnTokens usage={turn.usage} /> : null}
      </header>
      {turn.prompt === null ? null : <p class="asked">{clip(turn.prompt, 4_000)}</p>}
      {turn.tool_calls.length === 0 ? null : (
        <details class="calls">
          <summary>{count(turn.tool_calls.length + turn.tool_calls_omitted, "tool call")}</summary>
          <ul>
            {turn.tool_calls.map((one, index) => (
              <li key={index}>
                <code>{one.name}</code> <span class={`tag ${one.status}`}>{one.status}</span>
                <pre>{clip(one.input, 600)}</pre>
              </li>
            ))}
          </ul>
        </details>
      )}
      {turn.answer === null ? null : <Prose text={turn.answer} />}
      {turn.truncated ? <p class="quiet">The answer is longer: {turn.answer_bytes} bytes in all.</p> : null}
      {turn.error === null ? null : <Failure detail={turn.error} />}
    </article>
  );
}
