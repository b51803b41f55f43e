import { useState } from "preact/hooks";
import { type Answer, call } from "../api.ts";
import { type AgentView, nameOf } from "../state/agents.ts";
import { withFiles } from "../state/format.ts";
import { factsInWords } from "../state/readiness.ts";
import { announce } from "../ui.ts";
import { focusWhenShown, Key } from "./pieces.tsx";

const deliveries = {
  turn_boundary: "after the turn that runs",
  immediate: "as soon as it takes input",
  now: "now, or not at all",
} as const;
type DeliveryChoice = keyof typeof deliveries;

/** Gives the agent a prompt: through its queue, or directly. */
export function PromptBox({ id, view }: { id: string; view: AgentView }) {
  const [text, setText] = useState("");
  const [delivery, setDelivery] = useState<DeliveryChoice>("turn_boundary");
  const [model, setModel] = useState("");
  /** Null while none are attached. */
  const [files, setFiles] = useState<string | null>(null);
  const [result, setResult] = useState<{ ok: boolean; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const headless = view.identity.transport === "headless";

  const send = async () => {
    if (text.trim() === "" || busy) return;
    setBusy(true);
    const execution = headless && model.trim() !== "" ? { execution: { model: { name: model.trim() } } } : {};
    const prompt = withFiles(text, files ?? "");
    const answer = await (delivery === "now"
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
        disabled={!view.identity.has_gateway}
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
          disabled={!view.identity.has_gateway}
          onClick={() => setFiles(files === null ? "" : null)}
        >
          {files === null ? "Attach files" : "No files"}
        </button>
        <label>
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
        <button
          type="submit"
          class="primary"
          disabled={busy || text.trim() === "" || !view.identity.has_gateway}
        >
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
    value: `Accepted as ${request_id}, ${queue_depth === 1 ? "next in the queue" : `number ${queue_depth} in the queue`}.`,
  };
}

async function sendNow(id: string, prompt: string, execution: Execution): Promise<Answer<string>> {
  const answer = await call("agentControlPrompt", {
    params: { agent_ref: id },
    body: { prompt, ...execution },
  });
  return answer.ok ? { ok: true, value: `The agent took it. ${answer.value.detail}` } : answer;
}
