import { mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { InstalledCli } from "../../live/lab/cli-cache.ts";
import type { Sandbox } from "../../live/lab/sandbox.ts";
import { installOnce, runForeign } from "../../support/foreign-packages.ts";
import { until } from "../../support/until.ts";
import { freePort } from "../fixture.ts";
import { isAgentapiIdle, submissionOfAgentapi } from "./answers.ts";
import { startedApart } from "./fleet.ts";
import { askProduct, field, type PeerAgent, type Product } from "./product.ts";

const version = "0.11.6";

/**
 * Coder's agentapi, one server for each agent. A prompt is a message of type `user`, taken by an idle agent
 * only.
 */
export const agentapi: Product = {
  name: "agentapi",
  async install() {
    if (Bun.which("go") === null) throw new Error("there is no go to build it with");
    const folder = await installOnce(`agentapi-${version}`, async (folder) => {
      mkdirSync(folder, { recursive: true });
      const env = { ...process.env, GOBIN: folder, GOFLAGS: "-modcacherw" };
      await runForeign(["go", "install", `github.com/coder/agentapi@v${version}`], { env });
    });
    const program = join(folder, "agentapi");
    return {
      version,
      start: (cli, box, count) => startedApart(count, () => startAgent(program, cli, box)),
    };
  },
};

async function startAgent(program: string, cli: InstalledCli, box: Sandbox): Promise<PeerAgent> {
  const port = await freePort();
  const output = openSync(join(box.root, `agentapi-${port}.log`), "w", 0o600);
  const command = [program, "server", "--type=claude", `--port=${port}`, "--", cli.executable, ...box.args];
  const child = Bun.spawn(command, { cwd: box.work, env: box.env, stdio: ["ignore", output, output] });
  const url = `http://127.0.0.1:${port}`;
  await until("agentapi serves", async () => {
    if (child.exitCode !== null) throw new Error(`agentapi ended with ${child.exitCode}`);
    return (await askProduct("GET", `${url}/status`).catch(() => null))?.status === 200;
  });
  const send = (type: "user" | "raw", content: string) =>
    askProduct("POST", `${url}/message`, { type, content });
  return {
    submit: async (prompt) => submissionOfAgentapi(await send("user", prompt)),
    isIdle: async () => isAgentapiIdle(await askProduct("GET", `${url}/status`)),
    async screen() {
      // The agent's last message is the part of the screen since the last prompt.
      const messages = field((await askProduct("GET", `${url}/messages`)).body, "messages");
      return String(field(Array.isArray(messages) ? messages.at(-1) : null, "content") ?? "");
    },
    pressEnter: async () => void (await send("raw", "\r")),
  };
}
