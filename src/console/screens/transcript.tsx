import { useState } from "preact/hooks";
import type { TranscriptTurn } from "../../protocol/transcript.ts";
import type { TokenUsage } from "../../protocol/usage.ts";
import { call } from "../client/api.ts";
import { revisions } from "../client/store.ts";
import { Ago, Empty, Failure, useLoaded } from "../parts/pieces.tsx";
import { Prose } from "../parts/prose.tsx";
import { brief, clip, count, sumOf, tokensInWords, words } from "../state/format.ts";

/** What the agent was asked and what it answered, newest turn first. */
export function Transcript({ id }: { id: string }) {
  const revision = revisions.value.get(id) ?? 0;
  const [query, setQuery] = useState("");
  const [pages, setPages] = useState<{ turns: TranscriptTurn[]; next: string | null } | null>(null);
  const q = query.trim();
  const newest = useLoaded(`${id} ${q}`, revision, () =>
    call("agentTranscript", { params: { agent_ref: id }, query: { limit: 20, ...(q === "" ? {} : { q }) } }),
  );
  // The pages begin with the turns on the screen at that time: turns that come meanwhile push none out.
  const older = pages?.turns ?? [];
  const fresh = new Map((newest.value?.turns ?? []).map((turn) => [turn.turn_id, turn]));
  const kept = older.map((turn) => fresh.get(turn.turn_id) ?? turn);
  const keptIds = new Set(older.map(({ turn_id }) => turn_id));
  const turns = [...[...fresh.values()].filter(({ turn_id }) => !keptIds.has(turn_id)), ...kept];
  const next = pages === null ? (newest.value?.next ?? null) : pages.next;
  const loadOlder = async () => {
    if (next === null) return;
    const answer = await call("agentTranscript", {
      params: { agent_ref: id },
      query: { limit: 20, before: next, ...(q === "" ? {} : { q }) },
    });
    if (answer.ok) setPages({ turns: [...turns, ...answer.value.turns], next: answer.value.next });
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
        <button type="button" onClick={() => void loadOlder()}>
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

const shownOfPrompt = 1_000;

/** A long prompt is shown whole on request: the answer is what the reader came for. */
function Asked({ prompt }: { prompt: string }) {
  const [whole, setWhole] = useState(prompt.length <= shownOfPrompt);
  return (
    <>
      <p class="asked">{whole ? prompt : clip(prompt, shownOfPrompt)}</p>
      {whole ? null : (
        <button type="button" class="plain" onClick={() => setWhole(true)}>
          Whole prompt, {count(prompt.length, "character")}
        </button>
      )}
    </>
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
      {turn.prompt === null ? null : <Asked prompt={turn.prompt} />}
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
