import { type RequestRecord, wasInterrupted } from "../../protocol/gateway.ts";
import { call } from "../client/api.ts";
import { agents } from "../client/fleet.ts";
import { revisions } from "../client/store.ts";
import { Ago, Empty, Failure, useLoaded } from "../parts/pieces.tsx";
import { count, words } from "../state/format.ts";
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
          request={request}
          turnRuns={works && index === newestPrompt}
          open={newest || requests.length < 4 || request.state === "running" || request.state === "accepted"}
        />
      ))}
    </div>
  );
}

function Request({ request, open, turnRuns }: { request: RequestRecord; open: boolean; turnRuns: boolean }) {
  const state = wasInterrupted(request) ? "interrupted" : request.state;
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
      <p class="quiet id">{request.request_id}</p>
    </details>
  );
}
