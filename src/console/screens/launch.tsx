import { useState } from "preact/hooks";
import { call } from "../client/api.ts";
import { refreshAgents } from "../client/fleet.ts";
import { announce } from "../client/ui.ts";
import { formatRoute } from "../state/route.ts";

/** The fields of a launch, in the words of the route. */
const fields = [
  { name: "tool", label: "Tool", hint: "claude, codex, gemini, opencode or demo" },
  { name: "working_directory", label: "Working directory", hint: "/home/me/project" },
  { name: "agent_def_dir", label: "Folder of roles", hint: "it holds roles/ROLE/system-prompt.md" },
  { name: "role_name", label: "Role", hint: "a folder below roles/" },
  { name: "brain_manifest_path", label: "Brain manifest", hint: "/home/me/brain.yaml" },
] as const;
const none = { tool: "", working_directory: "", agent_def_dir: "", role_name: "", brain_manifest_path: "" };

/** A headless agent, as the server launches it. An agent in tmux belongs to a person's terminal. */
export function Launch() {
  const [values, setValues] = useState(none);
  const [agentName, setAgentName] = useState("");
  const [result, setResult] = useState<{ id: string | null; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const complete = fields.every(({ name }) => values[name].trim() !== "");
  const launch = async () => {
    if (!complete || busy) return;
    setBusy(true);
    const name = agentName.trim();
    const answer = await call("launchHeadless", {
      body: { ...values, ...(name === "" ? {} : { agent_name: name }) },
    });
    setBusy(false);
    const said = answer.ok
      ? { id: answer.value.identity.agent_id, text: `${answer.value.identity.agent_name} is launched.` }
      : { id: null, text: `Not launched. ${answer.detail}` };
    setResult(said);
    announce(said.text);
    if (!answer.ok) return;
    setValues(none);
    setAgentName("");
    void refreshAgents();
  };
  return (
    <form
      class="compose launch"
      onSubmit={(event) => {
        event.preventDefault();
        void launch();
      }}
    >
      <h1>New agent</h1>
      <p>
        For an agent in tmux, type in your terminal: <code>svc new NAME TOOL</code>. It gets your environment
        and your login.
      </p>
      <p>
        Here the server makes a headless agent: each prompt is a run of its tool. Paths are on the machine of
        the server.
      </p>
      {fields.map(({ name, label, hint }) => (
        <label key={name}>
          {label}
          <input
            required
            placeholder={hint}
            value={values[name]}
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      <label>
        Name
        <input
          placeholder="default: the role and six characters"
          value={agentName}
          onInput={(event) => setAgentName(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={!complete || busy}>
        {busy ? "Launching…" : "Launch"}
      </button>
      {result === null ? null : (
        <p class={result.id === null ? "receipt failed" : "receipt done"}>
          {result.text}{" "}
          {result.id === null ? null : (
            <a href={formatRoute({ screen: "agent", agent: result.id, tab: "transcript" })}>Open it</a>
          )}
        </p>
      )}
    </form>
  );
}
