import { Elysia } from "elysia";
import { coordinatorEndpoints as endpoints } from "../../protocol/coordinator-endpoints.ts";
import type { Answer } from "../../services/fleet/answer.ts";
import { ServiceError } from "../../system/errors.ts";
import { numbersIn, repliesOf, takes, takesOrNone } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import type { CoordinatorServices } from "./services.ts";

/** Who the agents are, what they do, and what they are asked to do (contract 4.4). */
export const agentRoutes = ({
  view,
  work,
  launches,
}: Pick<CoordinatorServices, "view" | "work" | "launches">) =>
  new Elysia({ name: "coordinator-agents" })
    .use(jsonBody)
    .get(endpoints.listAgents.path, ({ query }) => view.list(query), {
      query: endpoints.listAgents.query,
      response: repliesOf(endpoints.listAgents),
    })
    .get(endpoints.readAgent.path, ({ params }) => view.identity(params.agent_ref), {
      response: repliesOf(endpoints.readAgent),
    })
    .get(endpoints.agentState.path, ({ params }) => view.state(params.agent_ref), {
      response: repliesOf(endpoints.agentState),
    })
    .get(endpoints.agentStateDetail.path, ({ params }) => view.detail(params.agent_ref), {
      response: repliesOf(endpoints.agentStateDetail),
    })
    .get(endpoints.agentHistory.path, ({ params, query }) => view.history(params.agent_ref, query.limit), {
      query: endpoints.agentHistory.query,
      transform: numbersIn(endpoints.agentHistory.query),
      response: repliesOf(endpoints.agentHistory),
    })
    .post(
      endpoints.submitAgentRequest.path,
      async ({ params, body }) => bodyOf(await work.submit(params.agent_ref, body)),
      {
        ...takes(endpoints.submitAgentRequest),
        response: repliesOf(endpoints.submitAgentRequest),
      },
    )
    .get(endpoints.agentGateway.path, ({ params }) => view.gateway(params.agent_ref), {
      response: repliesOf(endpoints.agentGateway),
    })
    .post(endpoints.attachAgentGateway.path, ({ params }) => notOffered(view, params.agent_ref, "attach"), {
      ...takesOrNone(endpoints.attachAgentGateway),
      response: repliesOf(endpoints.attachAgentGateway),
    })
    .post(endpoints.detachAgentGateway.path, ({ params }) => notOffered(view, params.agent_ref, "detach"), {
      response: repliesOf(endpoints.detachAgentGateway),
    })
    .get(endpoints.agentMailResolveLive.path, ({ params }) => view.resolveLive(params.agent_ref), {
      response: repliesOf(endpoints.agentMailResolveLive),
    })
    .post(endpoints.stopAgent.path, ({ params }) => work.stop(params.agent_ref), {
      response: repliesOf(endpoints.stopAgent),
    })
    .post(endpoints.launchHeadless.path, ({ body }) => launches.launch(body), {
      ...takes(endpoints.launchHeadless),
      response: repliesOf(endpoints.launchHeadless),
    });

async function notOffered(
  view: CoordinatorServices["view"],
  ref: string,
  verb: "attach" | "detach",
): Promise<never> {
  const { agent_id: id } = await view.identity(ref);
  throw new ServiceError(
    "not_implemented",
    `a gateway is ${verb}ed on the agent's machine: svc-mgr agents single --agent-id ${id} gateway ${verb}`,
  );
}

/** The body of a good answer; a gateway's refusal goes out as it came. */
export function bodyOf<T>(answer: Answer<T>): T {
  if (answer.kind === "done") return answer.body;
  // A Response is passed on whatever a route declares.
  return Response.json(answer.body, { status: answer.status }) as T;
}
