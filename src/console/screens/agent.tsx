import { useEffect } from "preact/hooks";
import { every, isVisible } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { interruptAction, reconcileAction, relaunchAction, stopAction } from "../client/actions.ts";
import { call } from "../client/api.ts";
import { agents, agentsKnown, wantStates } from "../client/fleet.ts";
import { revisions, waitingItems } from "../client/store.ts";
import { propose } from "../client/ui.ts";
import { Condition, Empty, Since, useLoaded } from "../parts/pieces.tsx";
import { PromptBox } from "../parts/prompt-box.tsx";
import { type AgentView, nameOf, wordCondition } from "../state/agents.ts";
import { count, words } from "../state/format.ts";
import { factInWords, factsInWords } from "../state/readiness.ts";
import { type AgentTab, agentTabs, formatRoute } from "../state/route.ts";
import { Queue } from "./agent-queue.tsx";
import { AgentTerminal } from "./agent-terminal.tsx";
import { Reminders, Wakes } from "./agent-wakes.tsx";
import { OwnMailbox } from "./mail.tsx";
import { Transcript } from "./transcript.tsx";

const tabNames: Record<AgentTab, string> = {
  terminal: "Terminal",
  queue: "Queue",
  transcript: "Transcript",
  mail: "Mail",
  reminders: "Reminders",
  wakes: "Wakes",
};

export function AgentScreen({ id, tab }: { id: string; tab: AgentTab }) {
  const view = agents.value.get(id);
  const isKnown = view !== undefined;
  useEffect(() => {
    if (isKnown) wantStates(id);
  }, [id, isKnown]);
  if (view === undefined)
    return agentsKnown.value ? (
      <Empty title="No such agent" whole>
        It may have been forgotten. <a href="#/wall">All agents</a>
      </Empty>
    ) : (
      <Empty title="Looking at your agents…" whole />
    );
  return (
    <div class="agent-screen">
      <Head view={view} id={id} />
      <div class="columns">
        <div class="main">
          <nav class="tabs" aria-label="Parts of this agent">
            {agentTabs.map((one) => (
              <a
                key={one}
                href={formatRoute({ screen: "agent", agent: id, tab: one })}
                aria-current={one === tab ? "page" : undefined}
              >
                {tabNames[one]}
              </a>
            ))}
          </nav>
          <section class="part" aria-label={tabNames[tab]}>
            <Part id={id} tab={tab} view={view} />
          </section>
          <PromptBox id={id} view={view} />
        </div>
        <aside aria-label="State of this agent">
          <Readiness id={id} view={view} />
          {view.identity.has_gateway ? <Queue id={id} newest /> : null}
        </aside>
      </div>
    </div>
  );
}

function Part({ id, tab, view }: { id: string; tab: AgentTab; view: AgentView }) {
  const { has_gateway, transport, lifecycle_state } = view.identity;
  if (lifecycle_state === "stopped")
    return (
      <Empty title={`${nameOf(view.identity)} is stopped`}>
        {atGateway ? "" : "Relaunch starts it again, with a new conversation."}
      </Empty>
    );
  if (!has_gateway && transport === "headless")
    return (
      <Empty title="No turn yet, or none for a while">
        The next prompt starts what serves this agent. Write it below.
      </Empty>
    );
  if (!has_gateway)
    return (
      <Empty title="No gateway serves this agent">
        On its machine: <code>svc-mgr agents single --agent-name {nameOf(view.identity)} gateway attach</code>
      </Empty>
    );
  switch (tab) {
    case "terminal":
      return view.identity.transport === "headless" ? (
        <Empty title="A headless agent has no terminal">
          <a href={formatRoute({ screen: "agent", agent: id, tab: "transcript" })}>Its transcript</a> shows
          each turn.
        </Empty>
      ) : (
        <AgentTerminal id={id} name={nameOf(view.identity)} />
      );
    case "queue":
      return <Queue id={id} />;
    case "transcript":
      return <Transcript id={id} />;
    case "mail":
      return <OwnMailbox agent={id} />;
    case "reminders":
      return <Reminders id={id} />;
    case "wakes":
      return <Wakes id={id} />;
  }
}

function Head({ view, id }: { view: AgentView; id: string }) {
  const items = waitingItems.value.filter(({ agent_id }) => agent_id === id);
  const condition = wordCondition(view, items);
  const closed = view.state?.gateway?.request_admission === "blocked_reconciliation";
  const isStopped = view.identity.lifecycle_state === "stopped";
  const first = items.find(({ answers }) => answers.length > 0) ?? items[0];
  return (
    <header class="agent-head">
      {atGateway ? null : (
        <a class="back" href="#/wall">
          Wall
        </a>
      )}
      <h1>{nameOf(view.identity)}</h1>
      <Condition condition={condition} />
      {condition.kind === "working" && view.workingSinceMs !== null ? (
        <Since atMs={view.workingSinceMs} />
      ) : null}
      <span class="quiet">
        {view.identity.tool}, {view.identity.transport === "headless" ? "headless" : "in tmux"}
      </span>
      <span class="actions">
        {first ? (
          <a class="button waits" href={formatRoute({ screen: "needs-you", item: first.id })}>
            {first.answers.length > 0 ? "Answer" : "What waits"}
          </a>
        ) : null}
        {isStopped ? null : (
          <button type="button" onClick={() => propose(interruptAction(view))}>
            Interrupt
          </button>
        )}
        {closed ? (
          <button type="button" onClick={() => propose(reconcileAction(view))}>
            Reconcile
          </button>
        ) : null}
        <button type="button" onClick={() => propose(relaunchAction(view))}>
          Relaunch
        </button>
        {isStopped ? null : (
          <button type="button" class="danger" onClick={() => propose(stopAction(view))}>
            Stop
          </button>
        )}
      </span>
    </header>
  );
}

function readinessInWords(holds: boolean | undefined, queueWaits: boolean): string {
  if (holds === undefined) return "State";
  if (holds && queueWaits) return "Ready, but its queue waits";
  return holds ? "Ready for a prompt" : "Not ready for a prompt";
}

/** Whether the agent can take a prompt now and, in words, why not. */
function Readiness({ id, view }: { id: string; view: AgentView }) {
  const revision = revisions.value.get(id) ?? 0;
  const tui = view.identity.transport === "tui" && view.identity.has_gateway;
  const explained = useLoaded(`${id} ${tui}`, revision, () =>
    tui
      ? call("agentExplain", { params: { agent_ref: id } })
      : Promise.resolve({ ok: false as const, why: "refused" as const, detail: "" }),
  );
  const status = useLoaded(id, revision, () => call("agentGateway", { params: { agent_ref: id } }));
  const explanation = explained.value;
  const block = status.value?.admission_block;
  const waitsFor = status.value?.waiting;
  const ready = explanation?.prompt_ready;
  const waits = ready?.holds === false;
  // That a screen is still for long enough is no event.
  useEffect(
    () => (waits ? every(readinessPollMs, () => isVisible() && explained.reload()) : undefined),
    [id, waits],
  );
  return (
    <div class="readiness">
      <h2>{block ? "Takes no prompt now" : readinessInWords(ready?.holds, Boolean(waitsFor))}</h2>
      <ul>
        {block ? <li class="bad">{block.detail}</li> : null}
        {waitsFor && waitsFor.detail !== block?.detail ? (
          <li>
            The oldest request waits: {words(waitsFor.reason)}. {factsInWords(waitsFor.detail)}
          </li>
        ) : null}
        {ready?.holds === false && !block
          ? ready.failing.map((fact) => <li key={fact}>{factInWords(fact)}</li>)
          : null}
        {explanation?.second_witness?.missing ? <li>{explanation.second_witness.missing}</li> : null}
        {explanation ? (
          <li class="quiet">
            Turn: {explanation.turn.phase}. {explanation.turn.reason}
          </li>
        ) : null}
        {view.failure ? <li class="bad">{view.failure}</li> : null}
        {(view.state?.diagnostics ?? []).map(({ kind, message }) => (
          <li key={kind} class="bad">
            {message}
          </li>
        ))}
      </ul>
      <dl>
        <div>
          <dt>Queue</dt>
          <dd>{count(view.state?.gateway?.queue_depth ?? 0, "request")}</dd>
        </div>
        <div>
          <dt>Last turn</dt>
          <dd>{words(view.state?.last_turn.result ?? "unknown")}</dd>
        </div>
        <div>
          <dt>Instance</dt>
          <dd>{status.value?.managed_agent_instance_epoch ?? "unknown"}</dd>
        </div>
        {explanation?.tool_version ? (
          <div>
            <dt>Version</dt>
            <dd>{explanation.tool_version}</dd>
          </div>
        ) : null}
      </dl>
    </div>
  );
}

const readinessPollMs = 2_000;
