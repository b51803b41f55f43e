/** What is typed in the recorded session of README.md. */
export const story = {
  columns: 104,
  shellRows: 24,
  agentRows: 22,
  agentName: "first",
  steps: [
    { command: "svc-mgr agents launch --tool demo --agent-name first", seconds: 4 },
    {
      command: 'svc-mgr agents single --agent-name first prompt --prompt "describe the harbor" --wait',
      seconds: 6,
      /** The agent's screen is recorded at work too. */
      works: true,
    },
    { command: "svc-mgr agents single --agent-name first requests list", seconds: 4 },
    { command: "svc-mgr agents single --agent-name first stop", seconds: 3 },
  ],
} as const;

/** One moment of the recording: both screens as `tmux capture-pane -p -e` tells them. */
export interface Moment {
  /** typed: the command stands there; works: the agent is at it; done: the command has ended. */
  kind: "typed" | "works" | "done";
  command: string;
  shell: string;
  /** Empty while there is no agent. */
  agent: string;
  /** How long the picture shows it. */
  seconds: number;
}

/** scripts/record/recording.json. */
export interface Recording {
  columns: number;
  shell_rows: number;
  agent_rows: number;
  moments: Moment[];
}
