/** What a figure of a bench means, and what we want of it. */
export interface Meaning {
  bench: string;
  metric: string;
  /** A few words for the picture. */
  title: string;
  /** What is measured, in words that need no code. */
  what: string;
  /** What stands beside it. */
  limit?: string;
  /** `of`: the value, or its ratio to the limit. */
  aim?: { of: "value" | "ratio"; atMost?: number; atLeast?: number };
}

const bareServer = "a compiled bare `Bun.serve`";

/** The figures that count, in the order in which they are told. Others that a bench prints explain these. */
export const meanings: readonly Meaning[] = [
  {
    bench: "accept",
    metric: "p50_ms_1",
    title: "accept, 1 client",
    what: "a prompt sent by one client to its 202: it is on disk then (WAL, `synchronous=FULL`)",
    limit: "a bare `Bun.serve` that stores one row a transaction",
    aim: { of: "value", atMost: 1 },
  },
  {
    bench: "accept",
    metric: "p99_ms_64",
    title: "accept, 64 clients, p99",
    what: "the same with 64 clients at once",
    limit: "the same server",
    aim: { of: "value", atMost: 10 },
  },
  {
    bench: "accept",
    metric: "ratio_rate_64_to_raw_full",
    title: "accept rate, 64 clients",
    what: "prompts accepted a second with 64 clients, divided by the rows a second of prepared `bun:sqlite`, one a synced transaction, without HTTP",
    aim: { of: "value", atLeast: 6 },
  },
  {
    bench: "status",
    metric: "rate_64",
    title: "status reads, 64 clients (rate)",
    what: "reads of the status a second with 64 clients",
    limit: "a compiled bare `Bun.serve` that tells the same object",
    aim: { of: "ratio", atLeast: 0.8 },
  },
  {
    bench: "requests",
    metric: "failed_p50_ms",
    title: "the failed of 100,000 requests",
    what: "a list of the 20 that failed among 100,000 requests, the oldest of them",
    limit: "an answer of the same gateway that needs nothing",
    aim: { of: "value", atMost: 2 },
  },
  {
    bench: "reminders",
    metric: "change_durable_p50_ms",
    title: "a change among 5,000 reminders",
    what: "one of 5,000 reminders changed: a durable one, on disk when it is answered",
    limit: "an answer of the same gateway that needs nothing",
    aim: { of: "value", atMost: 2 },
  },
  {
    bench: "deliver",
    metric: "p50_ms",
    title: "delivery to the terminal",
    what: "the first byte of a request to the first byte that the idle agent paints of its prompt",
    limit: "a paste written straight to a tmux control client",
    aim: { of: "value", atMost: 3 },
  },
  {
    bench: "turnaround",
    metric: "claude_reported_p50_ms",
    title: "Claude Code, queued prompts, reported",
    what: "the real Claude Code with a scripted model, prompts queued: the model's last byte of a turn to the first byte of the next prompt's request, with the tool's own reports",
    limit: "the tool alone: the next prompt pasted into its pane with Enter",
    aim: { of: "value", atMost: 500 },
  },
  {
    bench: "turnaround",
    metric: "claude_screen_p50_ms",
    title: "Claude Code, queued prompts, screen",
    what: "the real Claude Code with a scripted model, prompts queued: the model's last byte of a turn to the first byte of the next prompt's request, by its screen alone (`--no-signals`)",
    limit: "the tool alone: the next prompt pasted into its pane with Enter",
  },
  {
    bench: "turnaround",
    metric: "codex_reported_p50_ms",
    title: "Codex, queued prompts, reported",
    what: "the real Codex with a scripted model, prompts queued: the model's last byte of a turn to the first byte of the next prompt's request, with the tool's own reports",
    limit: "the tool alone: the next prompt pasted into its pane with Enter",
    aim: { of: "value", atMost: 500 },
  },
  {
    bench: "turnaround",
    metric: "codex_screen_p50_ms",
    title: "Codex, queued prompts, screen",
    what: "the real Codex with a scripted model, prompts queued: the model's last byte of a turn to the first byte of the next prompt's request, by its screen alone (`--no-signals`)",
    limit: "the tool alone: the next prompt pasted into its pane with Enter",
  },
  {
    bench: "state",
    metric: "busy_edge_p50_ms",
    title: "busy seen",
    what: "the agent's repaint at the begin of a turn to the state we tell",
    limit: "a poller with the same eyes, every 500 ms",
    aim: { of: "value", atMost: 10 },
  },
  {
    bench: "state",
    metric: "ready_edge_p50_ms",
    title: "ready seen",
    what: "the same at the turn's end",
    limit: "the same poller",
  },
  {
    bench: "wake",
    metric: "wake_p50_ms",
    title: "wake-up by mail",
    what: "mail sent to an idle agent to the proved submission of its wake-up prompt",
    limit: "a poller that looks every 2 s",
    aim: { of: "value", atMost: 100 },
  },
  {
    bench: "mail",
    metric: "list_50_p50_ms",
    title: "mail: list of 50",
    what: "a list of 50 of 100,000 messages, over HTTP",
    limit: "a bare `Bun.serve` that answers with the rows of the raw query",
    aim: { of: "ratio", atMost: 3 },
  },
  {
    bench: "mail",
    metric: "list_50_in_process_p50_ms",
    title: "mail: list of 50, in process",
    what: "the same list as the mailbox gives it to the gateway, without HTTP",
    limit: "the raw query for the same rows",
    aim: { of: "ratio", atMost: 3 },
  },
  {
    bench: "mail",
    metric: "send_p50_ms",
    title: "mail: send",
    what: "a message sent: on disk when it is answered",
    limit: "the same bytes written, synced, renamed and the folder synced",
    aim: { of: "ratio", atMost: 2.5 },
  },
  {
    bench: "mail",
    metric: "search_p50_ms",
    title: "mail: search",
    what: "a word searched in 100,000 messages",
    limit: "the raw query",
  },
  {
    bench: "turn",
    metric: "turn_p50_ms",
    title: "headless turn",
    what: "a headless turn, from its request to the event `turn_finished`",
    limit: "the provider's command alone, run to its end",
  },
  {
    bench: "turn",
    metric: "overhead_p50_ms",
    title: "headless turn over its provider",
    what: "the median of that turn, less the median of the provider's command alone",
    aim: { of: "value", atMost: 20 },
  },
  {
    bench: "turn",
    metric: "event_latency_p50_ms",
    title: "event of a turn",
    what: "a record written by the provider to our event at a reader of the stream",
    aim: { of: "value", atMost: 20 },
  },
  {
    bench: "fleet",
    metric: "list_p50_ms",
    title: "list of 300 agents",
    what: "the list of 300 registered agents, 40 of them with a live gateway",
    limit: "an answer of the same server that needs nothing",
    aim: { of: "value", atMost: 10 },
  },
  {
    bench: "fleet",
    metric: "scrape_server_p50_ms",
    title: "scrape of 300 agents",
    what: "`GET /metrics` of the coordination server over 300 registered agents, 40 of them with a live gateway",
    limit: "an answer of the same server that needs nothing",
    aim: { of: "value", atMost: 50 },
  },
  {
    bench: "recorder",
    metric: "moment_max_ms",
    title: "any recorded moment",
    what: "what held at one moment of a recording of ten million records, the slowest of 400",
    aim: { of: "value", atMost: 100 },
  },
  {
    bench: "recorder",
    metric: "deliver_p50_ms",
    title: "deliver, recorded",
    what: "a prompt to the first byte in the terminal of an agent that is recorded",
    limit: "the same with the recorder off, in turns",
    aim: { of: "ratio", atMost: 1.1 },
  },
  {
    bench: "recorder",
    metric: "busy_edge_p50_ms",
    title: "begin of a turn seen, recorded",
    what: "the repaint to the state `active` of an agent that is recorded",
    limit: "the same with the recorder off, in turns",
    aim: { of: "ratio", atMost: 1.1 },
  },
  {
    bench: "ledger",
    metric: "writes_per_second",
    title: "turns written to the ledger",
    what: "turns a second, one write each, into a ledger of 100,000",
    limit: "the same columns by prepared `bun:sqlite`",
  },
  {
    bench: "ledger",
    metric: "cost_from_file_p50_ms",
    title: "what 100,000 turns cost",
    what: "the file of one agent opened, its 100,000 turns summed by day and model, and priced",
  },
  {
    bench: "fleet",
    metric: "forwarding_adds_p50_ms",
    title: "added by forwarding",
    what: "what the coordination server adds to a request that it forwards",
    aim: { of: "value", atMost: 2 },
  },
  {
    bench: "launch",
    metric: "launch_p50_ms",
    title: "launch with a gateway",
    what: "`svc new NAME demo` from its start to its end: the program proved on its screen, its gateway healthy",
    limit: "the same program in a bare tmux session, until its composer is there",
    aim: { of: "value", atMost: 300 },
  },
  {
    bench: "commands",
    metric: "ask_one_p50_ms",
    title: "a command of one agent",
    what: "`svc ok NAME` from its start to its end",
    limit: "a compiled program that prints a line",
    aim: { of: "value", atMost: 60 },
  },
  {
    bench: "commands",
    metric: "svc_p50_ms",
    title: "svc with 40 agents",
    what: "`svc` with 40 live agents, from its start to its end",
    limit: "a compiled program that prints a line",
    aim: { of: "value", atMost: 150 },
  },
  {
    bench: "commands",
    metric: "list_few_p50_ms",
    title: "agents list, 5 agents",
    what: "`svc agents list` with 5 live agents, from its start to its end",
    limit: "a compiled program that prints a line",
    aim: { of: "value", atMost: 60 },
  },
  {
    bench: "commands",
    metric: "list_registered_p50_ms",
    title: "agents list, 300 agents",
    what: "the same with 300 agents, 40 of them live, without a coordination server",
    limit: "a compiled program that prints a line",
    aim: { of: "value", atMost: 80 },
  },
  {
    bench: "console",
    metric: "first_load_kb",
    title: "console: first load",
    what: "the page and its assets as a browser receives them, without the live terminal",
    aim: { of: "value", atMost: 40 },
  },
  {
    bench: "console",
    metric: "ready_wall_p50_ms",
    title: "console: the wall of 100 agents",
    what: "the navigation of a browser that was never here to the first tile beside 100 agents",
    aim: { of: "value", atMost: 1000 },
  },
  {
    bench: "console",
    metric: "question_visible_p95_ms",
    title: "console: a question, p95",
    what: "a prompt sent that lets an agent ask, to the question in the browser, 95 % of them",
    aim: { of: "value", atMost: 1000 },
  },
  {
    bench: "console",
    metric: "key_echo_p50_ms",
    title: "console: a key and its echo",
    what: "a key pressed in the live terminal to what the agent paints for it in the browser",
    aim: { of: "value", atMost: 25 },
  },
  {
    bench: "console",
    metric: "idle_wall_cpu_percent",
    title: "console: an idle wall of 100",
    what: "all processes of a browser that shows 100 agents while nothing changes, of one core",
    aim: { of: "value", atMost: 10 },
  },
  {
    bench: "startup",
    metric: "healthy_ms",
    title: "start to healthy",
    what: "the start of the compiled gateway to its first 200 on `/health`: its queue made, tmux attached",
    limit: bareServer,
    aim: { of: "value", atMost: 25 },
  },
  {
    bench: "startup",
    metric: "all_routes_ms",
    title: "start to all routes",
    what: "the same start to the first answer of a route that is loaded last, asked for right after that 200",
    aim: { of: "value", atMost: 32 },
  },
  {
    bench: "hook",
    metric: "report_p50_ms",
    title: "hook command",
    what: "the hook command from its start to its end, with a prompt reported: the tool waits for it",
    limit: "a compiled program that does nothing",
    aim: { of: "value", atMost: 30 },
  },
  {
    bench: "mcp",
    metric: "first_answer_p50_ms",
    title: "start of svc mcp",
    what: "the start of the compiled MCP server to its first answer: a CLI waits for it at each start of its own",
    limit: "a compiled program that answers a line by hand",
    aim: { of: "value", atMost: 40 },
  },
  {
    bench: "idle",
    metric: "cpu_percent",
    title: "idle processor time",
    what: "one gateway and its tmux client beside an idle agent, of one core",
    limit: bareServer,
    aim: { of: "value", atMost: 0.1 },
  },
  ...["svc", "cao", "agentapi"].flatMap(peerMeanings),
  {
    bench: "hosts",
    metric: "list_p50_ms",
    title: "list of 1,000 on 20 hosts",
    what: "a list of 1,000 agents, 60 of them live, of 20 hosts over a NATS server",
    limit: "the health route of the same server",
    aim: { of: "value", atMost: 15 },
  },
  {
    bench: "hosts",
    metric: "forwarding_adds_p50_ms",
    title: "another host adds",
    what: "a gateway's answer through the operator's server, less the same through the server on the agent's host",
    aim: { of: "value", atMost: 2 },
  },
  {
    bench: "hosts",
    metric: "change_visible_p99_ms",
    title: "a new agent is listed",
    what: "the record of a new agent on its host to the operator's answer",
    aim: { of: "value", atMost: 1000 },
  },
  {
    bench: "hosts",
    metric: "pss_mb",
    title: "memory of the operator",
    what: "proportional memory (PSS) of the operator's server",
    aim: { of: "value", atMost: 150 },
  },
  {
    bench: "hosts",
    metric: "broker_restart_s",
    title: "NATS server killed",
    what: "the kill of the NATS server, which is started again, to an answer of every host",
    aim: { of: "value", atMost: 5 },
  },
  {
    bench: "hosts",
    metric: "partition_shown_heartbeats",
    title: "a host is cut off",
    what: "a connection that carries nothing any more to the host shown as away, in heartbeats of a second",
    aim: { of: "value", atMost: 3 },
  },
  {
    bench: "hundred",
    metric: "cpu_percent_100",
    title: "100 idle, processor time",
    what: "100 gateways with their tmux clients beside 100 idle agents, of one core in all",
    limit: `one ${bareServer.slice(2)}`,
    aim: { of: "value", atMost: 0.6 },
  },
  {
    bench: "hundred",
    metric: "pss_mb_each_1",
    title: "memory, alone",
    what: "proportional memory (PSS) of a gateway with its tmux client that is alone",
    limit: bareServer,
    aim: { of: "value", atMost: 40 },
  },
  {
    bench: "hundred",
    metric: "pss_mb_each_100",
    title: "memory, each of 100",
    what: "the same of each of 100",
    limit: "the bare server among them",
    aim: { of: "value", atMost: 10 },
  },
  {
    bench: "jmap",
    metric: "list_50_p50_ms",
    title: "JMAP: list of 50",
    what: "a list of 50 on a mail server",
    limit: "the fewest raw requests to the same server that do the same",
  },
  {
    bench: "jmap",
    metric: "send_p50_ms",
    title: "JMAP: send",
    what: "a message sent by a mail server",
    limit: "the same",
  },
];

/** One product of `bun run bench peers`. Only ours has an aim. */
function peerMeanings(product: string): Meaning[] {
  const parts: Record<string, [title: string, what: string]> = {
    answer_p50_ms: ["answer", "a prompt handed over by HTTP, beside Claude Code, to its answer"],
    to_model_p50_ms: ["prompt at the model", "the same to the request with the prompt at the model"],
    to_idle_p50_ms: ["idle is reported", "the end of the model's answer to the status idle"],
    prompts_lost: ["prompts lost", "accepted prompts that the model never received whole"],
    idle_cpu_percent_each: [
      "an idle agent",
      "the product and its tmux server, for each idle agent, of one core",
    ],
  };
  return Object.entries(parts).map(([part, [title, what]]) => ({
    bench: "peers",
    metric: `${product}_${part}`,
    title: `${product}: ${title}`,
    what: `${product}: ${what}`,
    ...(product === "svc" && part === "prompts_lost" ? { aim: { of: "value", atMost: 0 } } : {}),
  }));
}

/** Whether the figure reaches its aim; null without one, or without what it is measured against. */
export function reaches({ aim }: Meaning, row: { value: number; ratio?: number }): boolean | null {
  const figure = aim?.of === "ratio" ? row.ratio : row.value;
  if (aim === undefined || figure === undefined) return null;
  return (
    (aim.atMost === undefined || figure <= aim.atMost) && (aim.atLeast === undefined || figure >= aim.atLeast)
  );
}
