import { type RequestRecord, wasInterrupted, wasWithdrawn } from "../../protocol/gateway.ts";
import { withdrawAction } from "../client/actions.ts";
import { call } from "../client/api.ts";
import { agents } from "../client/fleet.ts";
import { revisions } from "../client/store.ts";
import { propose } from "../client/ui.ts";
import { Ago, Empty, Failure, useLoaded } from "../parts/pieces.tsx";
import { clip, count, words } from "../state/format.ts";
import { toLadder } from "../state/ladder.ts";

const kinds: Record<RequestRecord["request_kind"], string> = {
  submit_prompt: "Prompt",
  interrupt: "Interrupt",
  mail_notifier_prompt: "Wake by mail",
};

/** The requests of an agent, each with how far it got. `newest`: that one alone. */
export function Queue({ id, newest = false }: { id: string; newest?: boolean }) {
  const works = agents.value.get(id)?.state?.turn.phase === "active";
  const revision = revisions.value.get(id) ?? 0;
  const query = { limit: newest ? 1 : 50 };
  const list = useLoaded(`${id} ${newest}`, revision, () =>
    call("agentListGatewayRequests", { params: { agent_ref: id }, query }),
  );
  if (list.value === null)
    return newest ? null : list.failure ? (
      <Failure detail={list.failure} retry={list.reload} />
    ) : (
      <Empty title="Reading the queue…" />
    );
  const { requests } = list.value;
  if (requests.length === 0)
    return newest ? null : (
      <Empty title="No request yet">Write a prompt below: it waits here until the agent can take it.</Empty>
    );
  const newestPrompt = requests.findIndex(
    ({ request_kind, started_at_utc }) => request_kind !== "interrupt" && started_at_utc !== null,
  );
  return (
    <div class="queue">
      {newest ? <h2>Newest request</h2> : null}
      {requests.map((request, index) => (
        <Request
          key={request.request_id}
          agentId={id}
          request={request}
          turnRuns={works && index === newestPrompt}
          open={newest || requests.length < 4 || request.state === "running" || request.state === "accepted"}
        />
      ))}
    </div>
  );
}

function Request({
  agentId,
  request,
  open,
  turnRuns,
}: {
  agentId: string;
  request: RequestRecord;
  open: boolean;
  turnRuns: boolean;
}) {
  const state = wasInterrupted(request) ? "interrupted" : wasWithdrawn(request) ? "withdrawn" : request.state;
  const waits = request.state === "accepted" && request.request_kind !== "interrupt";
  return (
    <details class="request" open={open}>
      <summary>
        <strong>{kinds[request.request_kind]}</strong>
        <span class={`tag ${state}`}>{words(state)}</span>
        <Ago at={request.accepted_at_utc} />
        {request.prompt_length === undefined ? null : (
          <span class="quiet">{count(request.prompt_length, "character")}</span>
        )}
      </summary>
      <ol class="ladder">
        {toLadder(request, { turnRuns }).map((rung) => (
          <li key={rung.name} class={rung.status}>
            <span class="step">{rung.name}</span>
            {rung.atUtc ? (
              <Ago at={rung.atUtc} />
            ) : (
              <span class="quiet">
                {rung.status === "next"
                  ? turnRuns
                    ? "the turn runs"
                    : "waits"
                  : rung.status === "passed"
                    ? "not seen"
                    : ""}
              </span>
            )}
            {rung.proof ? <span class="proof">{rung.proof}</span> : null}
          </li>
        ))}
      </ol>
      {waits ? <WaitingPrompt agentId={agentId} requestId={request.request_id} /> : null}
      <p class="quiet id">{request.request_id}</p>
    </details>
  );
}

const maxShown = 2000;

/** What a request that waits asks, and the button that takes it back. */
function WaitingPrompt({ agentId, requestId }: { agentId: string; requestId: string }) {
  const view = agents.value.get(agentId);
  const stored = useLoaded(requestId, 0, () =>
    call("agentReadGatewayRequest", {
      params: { agent_ref: agentId, request_id: requestId },
      query: { include: "prompt" },
    }),
  );
  const prompt = stored.value?.prompt ?? "";
  return (
    <>
      {prompt === "" ? null : <p class="asked">{clip(prompt, maxShown)}</p>}
      {view === undefined ? null : (
        <button type="button" onClick={() => propose(withdrawAction(view, requestId, prompt))}>
          Withdraw
        </button>
      )}
    </>
  );
}
