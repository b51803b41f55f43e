/**
 * An ACP agent that misbehaves as its first argument says, in ways that real ones were seen to, and worse.
 * `tells` behaves: it answers with its mode and the variables that its further arguments name.
 */
export {};

const [way = "", ...variables] = process.argv.slice(2);
let mode: string | undefined;

const send = (message: object) =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId: string, fields: object) =>
  send({ method: "session/update", params: { sessionId, update: fields } });
const chunk = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

function noise(): void {
  process.stdout.write("Loaded cached credentials.\n\x1b[31mwarning\x1b[0m\n");
  process.stdout.write('{"half": \n[1,2]\nnull\n{"jsonrpc":"2.0"}\n');
  process.stdout.write('{"jsonrpc":"2.0","id":4711,"result":{"stopReason":"refusal"}}\n');
  process.stdout.write(`${"x".repeat(5_000_000)}\n`);
  // No end of line: the next message follows on the same one.
  process.stdout.write("ready> ");
}

if (way === "dies") {
  process.stderr.write("no login found\n");
  process.exit(3);
}
if (way === "mute") for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => {});

/** A request that names only the id of a call. */
function askById(sessionId: string): void {
  const options = [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ];
  const params = { sessionId, toolCall: { toolCallId: "call_1" }, options };
  send({ id: "ask-by-id", method: "session/request_permission", params });
}

let asked = 0;
function ask(sessionId: string, title: string): void {
  asked += 1;
  const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
  const toolCall = { toolCallId: `call-${asked}`, title };
  send({
    id: `ask-${asked}`,
    method: "session/request_permission",
    params: { sessionId, toolCall, options },
  });
}

let sessions = 0;
let prompted: unknown = null;
let answers = 0;
function handle(message: {
  id?: unknown;
  method?: string;
  params?: { sessionId?: string; modeId?: string };
  result?: { outcome?: { optionId?: string; outcome?: string } };
}): void {
  const { id, method, params } = message;
  const sessionId = params?.sessionId ?? "";
  if (way === "mute") return;
  switch (method) {
    case undefined:
      answers += 1;
      if (way === "asks-by-id") {
        const { optionId, outcome } = message.result?.outcome ?? {};
        update("one", chunk(`chose ${optionId ?? outcome}`));
        send({ id: prompted, result: { stopReason: "end_turn" } });
      }
      if (way === "asks-twice" && answers === 2) send({ id: prompted, result: { stopReason: "end_turn" } });
      return;
    case "initialize":
      if (way === "noise") noise();
      send({
        id,
        result: {
          protocolVersion: way === "version" ? 99 : 1,
          agentCapabilities: { loadSession: !["leaves-command-for-good", "no-load"].includes(way) },
        },
      });
      return;
    case "session/new":
      sessions += 1;
      send({ id, result: { sessionId: sessions === 1 ? "one" : "two" } });
      return;
    case "session/load":
      update(sessionId, chunk("an old answer"));
      send({ id, result: {} });
      return;
    case "session/set_mode":
      mode = params?.modeId;
      send({ id, result: {} });
      return;
    case "session/prompt":
      prompted = id;
      if (way === "tells") {
        const values = variables.map((name) => `${name}=${process.env[name] ?? ""}`);
        update(sessionId, chunk([`mode=${mode ?? ""}`, ...values].join(" ")));
        send({ id, result: { stopReason: "end_turn" } });
        return;
      }
      if (way === "noise") noise();
      if (way === "asks-twice") {
        ask(sessionId, "first");
        ask(sessionId, "second");
        return;
      }
      if (way === "asks-by-id") {
        // The first prompt reports the call before, and never its end; later ones use its id again.
        const rawInput = { command: "rm -rf build" };
        const call = { sessionUpdate: "tool_call", toolCallId: "call_1", title: "Bash", rawInput };
        if (answers === 0) update(sessionId, call);
        askById(sessionId);
        return;
      }
      if (way === "says-nothing") return;
      if (way.startsWith("leaves-command")) {
        Bun.spawn(["sleep", "600"], { stdio: ["ignore", "ignore", "ignore"] });
        return;
      }
      update("another-session", chunk("not for you"));
      update(sessionId, { sessionUpdate: "of_the_future", content: 7 });
      update(sessionId, chunk("a new answer"));
      send({ id, result: { stopReason: way === "odd-stop" ? "lost_interest" : "end_turn" } });
      return;
    case "session/cancel":
      if (way.startsWith("leaves-command")) send({ id: prompted, result: { stopReason: "cancelled" } });
      return;
    default:
      if (id !== undefined) send({ id, error: { code: -32601, message: "no such method" } });
  }
}

let rest = "";
for await (const piece of process.stdin.setEncoding("utf8")) {
  const lines = `${rest}${piece}`.split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) if (line !== "") handle(JSON.parse(line));
}
// It outlives its client.
if (way === "stays" || way === "mute") setInterval(() => {}, 60_000);
