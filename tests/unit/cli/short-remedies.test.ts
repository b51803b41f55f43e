import { expect, test } from "bun:test";
import { adviseInManager, toSentence } from "../../../src/cli/command-line/remedies.ts";
import { adviseInShort } from "../../../src/cli/command-line/short-remedies.ts";
import type { Remedy } from "../../../src/protocol/remedy.ts";

const agent_name = "my-agent";

test.each<{ remedy: Remedy; text: string }>([
  { remedy: { code: "launch_demo" }, text: "Launch one with: svc new first demo" },
  { remedy: { code: "prompt_agent", agent_name }, text: 'Prompt it with: svc ask my-agent "..."' },
  { remedy: { code: "queue_prompt", agent_name }, text: "Put it into the queue with: svc tell my-agent" },
  { remedy: { code: "attach_gateway", agent_name }, text: "Start one with: svc fix my-agent" },
  { remedy: { code: "attach_and_reconcile", agent_name }, text: "Open it with: svc fix my-agent" },
  { remedy: { code: "reconcile_queue", agent_name }, text: "Open it with: svc fix my-agent" },
  { remedy: { code: "relaunch_agent", agent_name }, text: "Start it again with: svc restart my-agent" },
  { remedy: { code: "end_agent", agent_name }, text: "End it with: svc stop my-agent" },
  { remedy: { code: "interrupt_turn", agent_name }, text: "End its turn with: svc int my-agent" },
  { remedy: { code: "follow_log", agent_name }, text: "Follow it with: svc log my-agent -f" },
  {
    remedy: { code: "attach_terminal", agent_name },
    text: "Send it or clear it there with: svc attach my-agent",
  },
  {
    remedy: { code: "resubmit_failed", agent_name },
    text: "See them and submit them again with: svc fix my-agent --again",
  },
  { remedy: { code: "list_waiting", agent_name }, text: "See what waits with: svc queue my-agent" },
  { remedy: { code: "show_last_turn", agent_name }, text: "See it with: svc log my-agent --turn 1" },
  { remedy: { code: "view_terminal", agent_name }, text: "See its terminal with: svc screen my-agent" },
  { remedy: { code: "answer_question", agent_name }, text: "Answer the question with: svc ok my-agent" },
  { remedy: { code: "choose_option", agent_name }, text: "Answer it with: svc ok my-agent ANSWER" },
  {
    remedy: { code: "record_screen", agent_name },
    text: "Record it from now on with: svc record my-agent on",
  },
  { remedy: { code: "list_running" }, text: "See your agents with: svc ls" },
  { remedy: { code: "list_agents" }, text: "See all with: svc agents list --state all" },
  { remedy: { code: "list_attention" }, text: "See what waits with: svc attention list" },
  { remedy: { code: "run_doctor" }, text: "See why with: svc doctor" },
  { remedy: { code: "set_budget" }, text: "Set it again with: svc budget set" },
  { remedy: { code: "create_backup" }, text: "Make one with: svc backup create" },
])("svc says: $text", ({ remedy, text }) => {
  expect(toSentence(adviseInShort(remedy))).toBe(text);
});

const mail: Remedy = {
  code: "read_mail",
  root: "/mail",
  address: "ann@svc.localhost",
  message_ref: "filesystem:msg-1",
};

test.each<{ id: string; remedy: Remedy; agent?: Parameters<typeof adviseInShort>[1] }>([
  { id: "by a command that svc lacks", remedy: { code: "cleanup_agent", agent_name } },
  { id: "by mail, whose word is another command of svc", remedy: mail },
  { id: "of an agent that is named by its id", remedy: { code: "relaunch_agent", agent_id: "id-1" } },
  {
    id: "of an agent that the caller named by its id",
    remedy: { code: "relaunch_agent", agent_name },
    agent: { agentId: "id-1" },
  },
  { id: "of the caller itself", remedy: { code: "relaunch_agent", agent_name }, agent: "self" },
])("what is done $id is said as svc-mgr does", ({ remedy, agent }) => {
  const advice = adviseInShort(remedy, agent);
  expect(advice.command).toStartWith("svc-mgr ");
  expect(advice).toEqual(adviseInManager(remedy, agent));
});
