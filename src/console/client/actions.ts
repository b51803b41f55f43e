import { clockTime, nowMs, parseTime } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { type AgentView, idOf, nameOf } from "../state/agents.ts";
import { clip, count, words } from "../state/format.ts";
import { call } from "./api.ts";
import { refreshAgents, wantStates } from "./fleet.ts";
import { signOut } from "./store.ts";
import { type Action, type Outcome, outcomeOf, refused } from "./ui.ts";

/**
 * What a person can do with an agent: what it will do in words, the route that does it, and what proves it.
 */

const paramsOf = (view: AgentView) => ({ agent_ref: idOf(view.identity) });
const at = () => clockTime(nowMs());

export function interruptAction(view: AgentView): Action {
  const name = nameOf(view.identity);
  return {
    title: `Interrupt ${name}?`,
    will: [
      "The turn that runs now is stopped, as the tool's own stop key does it.",
      "The interrupt overtakes what waits in the queue. What waits stays there.",
      "When nothing runs, nothing is pressed.",
    ],
    button: "Interrupt",
    danger: false,
    async run() {
      const params = paramsOf(view);
      if (atGateway) return interruptHere(view);
      const sent = await call("submitAgentRequest", { params, body: { request_kind: "interrupt" } });
      wantStates(idOf(view.identity));
      if (sent.ok && sent.value.gateway_request_id !== undefined)
        return followRequest(view, sent.value.gateway_request_id, "Interrupted");
      return outcomeOf(sent, {
        done: "Interrupt taken",
        failed: `${name} was not interrupted`,
        next: "Look at the terminal, then try again.",
        evidence: ({ disposition, detail }) => [
          disposition === "no_op" ? `Nothing ran, nothing was pressed (${at()}).` : `Accepted at ${at()}.`,
          detail,
        ],
      });
    },
  };
}

/** A gateway has its queue alone. */
async function interruptHere(view: AgentView): Promise<Outcome> {
  const params = paramsOf(view);
  const sent = await call("agentSubmitGatewayRequest", { params, body: { kind: "interrupt" } });
  wantStates(idOf(view.identity));
  return sent.ok
    ? followRequest(view, sent.value.request_id, "Interrupted")
    : refused(`${nameOf(view.identity)} was not interrupted`, sent, "Look at the terminal, then try again.");
}

/** How often and how many times a request is asked for until it has ended. */
const requestPolls = 20;

async function followRequest(view: AgentView, requestId: string, title: string): Promise<Outcome> {
  const params = { ...paramsOf(view), request_id: requestId };
  for (let poll = 0; poll < requestPolls; poll++) {
    const read = await call("agentReadGatewayRequest", { params });
    if (!read.ok)
      return refused("Accepted; its end could not be read", read, "Look at the queue of this agent.");
    const { state, evidence, error_detail, result_json } = read.value;
    const proofs = evidence.map(
      ({ step, proof, at_utc }) => `${words(step)} at ${clockTime(parseTime(at_utc) ?? 0)}: ${proof}`,
    );
    if (state === "completed") {
      const { outcome, detail } = result_json ?? {};
      return {
        done: true,
        title: outcome === undefined || outcome === "interrupted" ? title : "Nothing was interrupted",
        evidence: [...proofs, ...(typeof detail === "string" ? [`${detail} (${at()})`] : [])],
        next: "",
      };
    }
    if (state === "failed")
      return {
        done: false,
        title: "It failed",
        evidence: [...proofs, error_detail ?? ""],
        next: "Look at the terminal.",
      };
    await call("agentWait", { params: paramsOf(view), query: { for: "ready", timeout_seconds: 1 } });
  }
  return {
    done: true,
    title: "Accepted",
    evidence: [`Request ${requestId} is in the queue.`],
    next: "Its ladder is under Queue.",
  };
}

/** Characters of a prompt that the question quotes. */
const maxQuoted = 200;

export function withdrawAction(view: AgentView, requestId: string, prompt: string): Action {
  const name = nameOf(view.identity);
  return {
    title: `Withdraw this prompt of ${name}?`,
    will: [
      ...(prompt === "" ? [] : [clip(prompt, maxQuoted)]),
      "It is never typed. Its record stays, with its end.",
      "When it is typed already, nothing happens.",
    ],
    button: "Withdraw",
    danger: false,
    async run() {
      const params = { ...paramsOf(view), request_id: requestId };
      const done = await call("agentWithdrawGatewayRequest", { params });
      wantStates(idOf(view.identity));
      return outcomeOf(done, {
        done: "The prompt is withdrawn",
        failed: "The prompt was not withdrawn",
        next: "Look at the queue of this agent.",
        evidence: ({ error_detail }) => [error_detail ?? "withdrawn", `Answered at ${at()}.`],
      });
    },
  };
}

export function stopAction(view: AgentView): Action {
  const name = nameOf(view.identity);
  if (atGateway)
    return commandAction(
      `Stop ${name}`,
      [
        "A gateway ends with its agent, so it cannot end it.",
        "Its gateway, its processes and its tmux session end. A turn that runs is lost.",
      ],
      `svc-mgr agents single --agent-name ${name} stop`,
    );
  return {
    title: `Stop ${name}?`,
    will: [
      "Its gateway, its processes and its tmux session end. A turn that runs is lost.",
      "Requests that wait in its queue are not carried out.",
      "Its record stays: it can be launched again.",
    ],
    button: "Stop the agent",
    danger: true,
    async run() {
      const stopped = await call("stopAgent", { params: paramsOf(view) });
      void refreshAgents();
      return outcomeOf(stopped, {
        done: `${name} is stopped`,
        failed: `${name} was not stopped`,
        next: `On its machine: svc-mgr agents single --agent-name ${name} stop`,
        evidence: ({ detail }) => [detail, `Answered at ${at()}.`],
      });
    },
  };
}

export function reconcileAction(view: AgentView): Action {
  const name = nameOf(view.identity);
  return {
    title: `Let the new instance of ${name} be worked with?`,
    will: [
      "Requests that were accepted for the earlier instance fail. None of them is carried out by the new one.",
      "The queue opens again for new requests.",
      "Harmless to repeat.",
    ],
    button: "Reconcile",
    danger: false,
    async run() {
      const done = await call("agentReconcile", { params: paramsOf(view) });
      wantStates(idOf(view.identity));
      return outcomeOf(done, {
        done: "The queue is open",
        failed: "Nothing was reconciled",
        next: "Look at the terminal of the agent.",
        evidence: ({ managed_agent_instance_epoch, failed_request_ids }) => [
          `Instance ${managed_agent_instance_epoch} is worked with since ${at()}.`,
          `${count(failed_request_ids.length, "request")} of an earlier instance failed.`,
        ],
      });
    },
  };
}

export const signOutAction: Action = {
  title: "Sign this browser out?",
  will: [
    "Every tab of it asks to sign in again. Agents and their work go on.",
    "To come back, type svc console on the machine of the server and open the link that it prints.",
  ],
  button: "Sign out",
  danger: false,
  async run() {
    return outcomeOf(await signOut(), {
      done: "Signed out",
      failed: "Not signed out",
      next: "Try again.",
      evidence: () => [`Signed out at ${at()}.`],
    });
  },
};

/** What only a command on the agent's machine does. */
function commandAction(title: string, will: string[], command: string): Action {
  return {
    title,
    will: [...will, `On the agent's machine, type: ${command}`],
    button: "Copy the command",
    danger: false,
    async run() {
      try {
        await navigator.clipboard.writeText(command);
        return {
          done: true,
          title: "Copied",
          evidence: [command],
          next: "Paste it into a terminal on the agent's machine.",
        };
      } catch {
        return {
          done: false,
          title: "The browser refused to copy",
          evidence: [command],
          next: "Select the command and copy it.",
        };
      }
    },
  };
}

const queueAfter = {
  open: "Its queue takes requests.",
  blocked_reconciliation: "Requests wait for the instance before: Reconcile opens the queue.",
  blocked_unavailable: "Its queue takes no requests yet.",
  none: "Its gateway has not answered.",
} as const;

export function relaunchAction(view: AgentView): Action {
  const name = nameOf(view.identity);
  const command = `svc-mgr agents single --agent-name ${name} relaunch`;
  const will = [
    "Its program ends and starts again, with a new conversation. A turn that runs is lost.",
    "When requests wait for the instance before, the queue asks for Reconcile.",
  ];
  if (atGateway)
    return commandAction(
      `Relaunch ${name}`,
      ["A gateway serves what others start, so it cannot do it.", ...will],
      command,
    );
  return {
    title: `Relaunch ${name}?`,
    will: [
      ...will,
      "It gets the environment of the coordination server. When it was started with variables that the server has no value for, nothing changes.",
    ],
    button: "Relaunch",
    danger: true,
    async run() {
      const done = await call("relaunchAgent", { params: paramsOf(view) });
      void refreshAgents();
      wantStates(idOf(view.identity));
      return outcomeOf(done, {
        done: `${name} is relaunched`,
        failed: `${name} was not relaunched`,
        next: `On its machine: ${command}`,
        evidence: ({ detail, request_admission }) => [
          `It was ${detail}, at ${at()}.`,
          queueAfter[request_admission ?? "none"],
        ],
      });
    },
  };
}
