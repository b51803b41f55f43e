import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../../live/lab/sandbox.ts";
import { installPythonPackage } from "../../support/foreign-packages.ts";
import { until } from "../../support/until.ts";
import { freePort } from "../fixture.ts";
import { isCaoIdle, submissionOfCao } from "./answers.ts";
import { startedApart } from "./fleet.ts";
import { type Answer, askProduct, field, type PeerAgent, type Product } from "./product.ts";

const version = "2.5.4";
const profileName = "peer";
/** Permissions as the lab's recipe sets them, so that a command is asked about. */
const profile = `---
name: ${profileName}
description: Answers prompts
provider: claude_code
permissionMode: default
skills: []
---
`;

/** Awslabs' CLI Agent Orchestrator, one server for all agents. A prompt is a message to the agent's inbox. */
export const cao: Product = {
  name: "cao",
  async install() {
    const bin = await installPythonPackage({
      purpose: "bench peers",
      name: "cli-agent-orchestrator",
      version,
    });
    return {
      version,
      async start(_cli, box, count) {
        const server = await startServer(bin, box);
        return startedApart(count, (number) => startAgent(server, box, number));
      },
    };
  },
};

interface Server {
  url: string;
  /** Where tmux has the socket that a client without flags uses. */
  tmuxFolder: string;
}

async function startServer(bin: string, box: Sandbox): Promise<Server> {
  const caoHome = join(box.home, "cao");
  const tmuxFolder = join(box.root, "cao-tmux");
  for (const folder of [join(caoHome, "agent-store"), tmuxFolder]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  writeFileSync(join(caoHome, "agent-store", `${profileName}.md`), profile);
  const path = `${bin}:${box.env["PATH"]}`;
  // Its panes run a login shell, which sets another search path.
  writeFileSync(join(box.home, ".bash_profile"), `export PATH='${path}'\n`);
  // It unsets such variables before it starts the CLI.
  writeFileSync(
    join(box.home, ".claude", "settings.json"),
    JSON.stringify({ env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" } }),
  );
  const port = await freePort();
  const log = join(box.root, "cao.log");
  const output = openSync(log, "w", 0o600);
  const child = Bun.spawn([join(bin, "cao-server"), "--host", "127.0.0.1", "--port", String(port)], {
    cwd: box.work,
    env: {
      ...box.env,
      PATH: path,
      CAO_HOME_DIR: caoHome,
      CAO_API_PORT: String(port),
      TMUX_TMPDIR: tmuxFolder,
    },
    stdio: ["ignore", output, output],
  });
  const url = `http://127.0.0.1:${port}`;
  await until("cao-server serves", async () => {
    if (child.exitCode !== null)
      throw new Error(`cao-server ended:\n${readFileSync(log, "utf8").slice(-2000)}`);
    return (await askProduct("GET", `${url}/health`).catch(() => null))?.status === 200;
  });
  return { url, tmuxFolder };
}

async function startAgent({ url, tmuxFolder }: Server, box: Sandbox, number: number): Promise<PeerAgent> {
  const wanted = new URLSearchParams({
    agent_profile: profileName,
    provider: "claude_code",
    session_name: `peer-${number}`,
    working_directory: box.work,
    allowed_tools: "*",
  });
  const { id, session, window } = terminalOf(await askProduct("POST", `${url}/sessions?${wanted}`));
  const tmux = async (...words: string[]) => {
    const child = Bun.spawn(["tmux", ...words], {
      env: { ...box.env, TMUX_TMPDIR: tmuxFolder },
      stdio: ["ignore", "pipe", "ignore"],
    });
    return new Response(child.stdout).text();
  };
  const pane = `${session}:${window}`;
  return {
    async submit(prompt) {
      const message = new URLSearchParams({ sender_id: "bench", message: prompt });
      return submissionOfCao(await askProduct("POST", `${url}/terminals/${id}/inbox/messages?${message}`));
    },
    isIdle: async () => isCaoIdle(await askProduct("GET", `${url}/terminals/${id}`)),
    screen: () => tmux("capture-pane", "-p", "-t", pane),
    pressEnter: async () => void (await tmux("send-keys", "-t", pane, "Enter")),
  };
}

function terminalOf({ status, body }: Answer): { id: string; session: string; window: string } {
  const [id, session, window] = ["id", "session_name", "name"].map((name) => field(body, name));
  if (typeof id === "string" && typeof session === "string" && typeof window === "string") {
    return { id, session, window };
  }
  throw new Error(`cao made no agent: ${status} ${JSON.stringify(body)}`);
}
