import { useEffect, useState } from "preact/hooks";
import { after, clockTime, nowMs } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { type Answer, call } from "../client/api.ts";
import { refreshAgents, wantStates } from "../client/fleet.ts";
import { announce } from "../client/ui.ts";
import { type AgentView, nameOf } from "../state/agents.ts";
import { withFiles } from "../state/format.ts";
import { factsInWords } from "../state/readiness.ts";
import { focusWhenShown, Key, useDraft } from "./pieces.tsx";

const deliveries = {
  turn_boundary: "after the turn that runs",
  immediate: "as soon as it takes input",
  now: "now, or not at all",
} as const;
type DeliveryChoice = keyof typeof deliveries;

/** The queue shows how an accepted prompt goes on: its receipt goes before it is out of date for long. */
const receiptMs = 20_000;

/** Gives the agent a prompt: through its queue, or directly. */
export function PromptBox({ id, view }: { id: string; view: AgentView }) {
  const [text, setText] = useDraft(`prompt.${id}`);
  const [delivery, setDelivery] = useState<DeliveryChoice>("turn_boundary");
  const [model, setModel] = useState("");
  /** Null while none are attached. */
  const [files, setFiles] = useState<string | null>(null);
  const [result, setResult] = useState<{ ok: boolean; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const { transport, has_gateway, lifecycle_state } = view.identity;
  const headless = transport === "headless";
  // A headless agent without a gateway gets one with its prompt.
  const startsGateway = headless && !has_gateway && !atGateway && lifecycle_state !== "stopped";
  const takesPrompts = has_gateway || startsGateway;
  useEffect(() => (result?.ok ? after(receiptMs, () => setResult(null)) : undefined), [result]);

  const send = async () => {
    if (text.trim() === "" || busy) return;
    setBusy(true);
    const execution = headless && model.trim() !== "" ? { execution: { model: { name: model.trim() } } } : {};
    const prompt = withFiles(text, files ?? "");
    const answer = await (startsGateway
      ? beginTurn(id, prompt, execution)
      : delivery === "now"
        ? sendNow(id, prompt, execution)
        : enqueue(id, prompt, delivery, execution));
    setBusy(false);
    const said = answer.ok ? answer.value : `Not sent. ${factsInWords(answer.detail)}`;
    setResult({ ok: answer.ok, text: said });
    announce(said);
    if (!answer.ok) return;
    setText("");
    setFiles(null);
  };

  return (
    <form
      class="prompt-box"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        aria-label={`Prompt for ${nameOf(view.identity)}`}
        placeholder={`Prompt for ${nameOf(view.identity)}`}
        rows={2}
        value={text}
        disabled={!takesPrompts}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void send();
        }}
      />
      {files === null ? null : (
        <label class="files">
          Files: absolute paths on the machine of the agent, one a line. They are named at the end of the
          prompt.
          <textarea
            rows={2}
            ref={focusWhenShown}
            value={files}
            onInput={(event) => setFiles(event.currentTarget.value)}
          />
        </label>
      )}
      <div class="controls">
        <button
          type="button"
          aria-expanded={files !== null}
          disabled={!takesPrompts}
          onClick={() => setFiles(files === null ? "" : null)}
        >
          {files === null ? "Attach files" : "No files"}
        </button>
        <label hidden={startsGateway}>
          Send{" "}
          <select
            value={delivery}
            onChange={(event) => setDelivery(event.currentTarget.value as DeliveryChoice)}
          >
            {Object.entries(deliveries).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {headless ? (
          <label>
            Model{" "}
            <input
              class="model"
              value={model}
              placeholder="as launched"
              onInput={(event) => setModel(event.currentTarget.value)}
            />
          </label>
        ) : null}
        <button type="submit" class="primary" disabled={busy || text.trim() === "" || !takesPrompts}>
          {busy ? "Sending…" : "Send"} <Key>Ctrl Enter</Key>
        </button>
      </div>
      {result === null ? null : <p class={result.ok ? "receipt done" : "receipt failed"}>{result.text}</p>}
    </form>
  );
}

type Execution = { execution?: { model: { name: string } } };

async function enqueue(
  id: string,
  prompt: string,
  delivery: "turn_boundary" | "immediate",
  execution: Execution,
): Promise<Answer<string>> {
  const body = { kind: "submit_prompt" as const, payload: { prompt, delivery, ...execution } };
  const answer = await call("agentSubmitGatewayRequest", { params: { agent_ref: id }, body });
  if (!answer.ok) return answer;
  const { request_id, queue_depth } = answer.value;
  return {
    ok: true,
    value: `Accepted as ${request_id}, ${queue_depth === 1 ? "next in the queue" : `number ${queue_depth} in the queue`}, at ${clockTime(nowMs())}.`,
  };
}

/** The first turn of a headless agent, or the first after its gateway ended. */
async function beginTurn(id: string, prompt: string, execution: Execution): Promise<Answer<string>> {
  const answer = await call("submitTurn", { params: { agent_ref: id }, body: { prompt, ...execution } });
  if (!answer.ok) return answer;
  await refreshAgents();
  wantStates(id);
  return { ok: true, value: `Accepted as ${answer.value.turn_id} at ${clockTime(nowMs())}.` };
}

async function sendNow(id: string, prompt: string, execution: Execution): Promise<Answer<string>> {
  const answer = await call("agentControlPrompt", {
    params: { agent_ref: id },
    body: { prompt, ...execution },
  });
  return answer.ok ? { ok: true, value: `The agent took it. ${answer.value.detail}` } : answer;
}
