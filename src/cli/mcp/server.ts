import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { ServiceError } from "../../system/errors.ts";
import { CommandFailure } from "../dispatch.ts";
import { programVersion } from "../version.ts";
import type { ToolSession } from "./tools.ts";

const instructions =
  "svc runs coding agents beside you. prompt_agent queues a task durably; wait and read_answer return its answer; mail reaches agents that are busy. Do not hand a task back to who gave it to you.";

/**
 * Serves MCP on standard input and output until the client closes it or the process is interrupted. Nothing is kept in
 * this process: what a tool accepted lies in the agents' gateways.
 */
export async function serveMcp({
  interrupted,
  ...session
}: Omit<ToolSession, "cancelled"> & { interrupted: AbortSignal }): Promise<void> {
  const { version } = await programVersion();
  const server = new Server({ name: "svc", version }, { capabilities: { tools: {} }, instructions });
  // A client waits for the first answer, which needs nothing of the fleet.
  const tools = async () => import("./tools.ts");
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: (await tools()).listTools() }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const cancelled = AbortSignal.any([signal, interrupted]);
    try {
      return contentOf(
        await (await tools()).runTool(params.name, params.arguments ?? {}, { ...session, cancelled }),
      );
    } catch (error) {
      return { ...contentOf(documentOf(error)), isError: true };
    }
  });
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
    interrupted.addEventListener("abort", () => resolve(), { once: true });
  });
  // The transport does not notice that its input has ended.
  process.stdin.once("end", () => void server.close()).once("close", () => void server.close());
  await server.connect(new StdioServerTransport());
  await closed;
  await server.close();
}

/** An object also where a client would take a text that is a list for something else. */
const contentOf = (document: object) => ({
  content: [{ type: "text" as const, text: JSON.stringify(document) }],
});

function documentOf(error: unknown): object {
  if (error instanceof CommandFailure) {
    return typeof error.json === "object" && error.json !== null ? error.json : { detail: error.message };
  }
  if (error instanceof ServiceError) return { error: error.reason, detail: error.message };
  return { error: "internal", detail: "the tool failed" };
}
