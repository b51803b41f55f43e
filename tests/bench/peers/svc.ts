import { existsSync } from "node:fs";
import { join } from "node:path";
import type { InstalledCli } from "../../live/lab/cli-cache.ts";
import { startLabGateway } from "../../live/lab/lab-gateway.ts";
import type { Sandbox } from "../../live/lab/sandbox.ts";
import { isSvcIdle, submissionOfSvc } from "./answers.ts";
import { startedApart } from "./fleet.ts";
import { askProduct, type PeerAgent, type Product } from "./product.ts";

const compiled = join(import.meta.dir, "..", "..", "..", "dist", "svc-gateway");

/** The gateway as it ships, with the CLI's own reports. A prompt is a stored request. */
export const svc: Product = {
  name: "svc",
  install: async () => ({
    version: "this tree",
    start: (cli, box, count) => startedApart(count, (number) => startAgent(cli, box, number)),
  }),
};

async function startAgent(cli: InstalledCli, box: Sandbox, number: number): Promise<PeerAgent> {
  const command = existsSync(compiled) ? [compiled] : undefined;
  const { ready } = await startLabGateway(cli, box, { command, agentName: `peer-${number}` });
  const pane = `=${ready.tmux_session_name}:0`;
  return {
    async submit(prompt) {
      const request = { schema_version: 1, kind: "submit_prompt", payload: { prompt } };
      return submissionOfSvc(await askProduct("POST", `${ready.base_url}/v1/requests`, request));
    },
    isIdle: async () => isSvcIdle(await askProduct("GET", `${ready.base_url}/v1/status`)),
    screen: async () => box.tmux("capture-pane", "-p", "-t", pane),
    pressEnter: async () => void box.tmux("send-keys", "-t", pane, "Enter"),
  };
}
