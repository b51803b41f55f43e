import type { AdmissionPolicy } from "../../../protocol/gateway.ts";
import { toRefusalCode } from "../../../services/fleet/gateway-client.ts";
import { command } from "../../command.ts";
import { readPrompt } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { stepAfterRefusal } from "../../recovery-advice.ts";
import { openLiveTarget } from "../../target.ts";

const policies = {
  "ready-only": "ready_only",
  "if-no-pending": "if_no_pending",
  always: "always",
} as const satisfies Record<string, AdmissionPolicy>;

export default command({
  name: "prompt",
  description: "type a prompt at once, or refuse with the reason; nothing is queued",
  examples: ['svc-mgr agents single --agent-name worker gateway prompt --prompt "hello"'],
  args: {
    prompt: { type: "string", description: "the text; without it standard input is read", valueHint: "TEXT" },
    "admission-policy": {
      type: "enum",
      options: ["ready-only", "if-no-pending", "always"],
      description: "what must hold of the agent",
      default: "ready-only",
    },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const prompt = await readPrompt(args.prompt, io);
    const { link, words } = await openLiveTarget(invocation);
    const reply = await link.client.call("controlPrompt", {
      body: { schema_version: 2, prompt, admission_policy: policies[args["admission-policy"]] },
    });
    const refusal = reply.kind === "refused" ? toRefusalCode(reply.body) : null;
    const step = refusal && stepAfterRefusal(refusal, words);
    const result = bodyOf(
      reply.kind === "refused" && step ? { ...reply, detail: `${reply.detail}. ${step}` } : reply,
    );
    return { json: result, text: `sent: ${result.detail}` };
  },
});
