/** A command that the specification names, with the flags that it names for it. */
export interface SpecifiedCommand {
  /** As words, `svc-mgr` first; `single|self` stands for both ways to name an agent. */
  command: string;
  flags?: string;
}

const one = "svc-mgr agents single|self";
const body = "--body-content --body-file --attach --notify-block";
const reminder = [
  "--title --mode --prompt --sequence --ensure-enter --ranking --before-all --after-all --paused",
  "--start-after-seconds --deliver-at-utc --interval-seconds",
].join(" ");
const timings = [
  "watch-poll-interval",
  "stability-threshold",
  "completion-stability",
  "unknown-to-stalled-timeout",
  "stale-active-recovery",
  "final-stable-active-recovery",
].map((timing) => `--gateway-tui-${timing}-seconds`);

/**
 * Every command of spec/coordination.md 4.5, spec/mailbox-agui.md A11 and contract 4.5, written from these
 * texts and not from the programs. `--print-json` of the texts is `--json` here, `svc-server` is `svc-coord`
 * (ruling 1).
 */
export const specifiedCommands: readonly SpecifiedCommand[] = [
  { command: "svc-coord serve", flags: "--host --port --runtime-root --registry-root" },
  {
    command: "svc-mgr agents launch",
    flags:
      "--tool --agent-name --agent-id --workdir --headless --gateway-port --no-gateway --model --mailbox --role-file --session-name --force",
  },
  { command: "svc-mgr agents global list", flags: "--state" },
  { command: "svc-mgr agents list", flags: "--state" },
  { command: `${one} state` },
  { command: `${one} prompt`, flags: "--prompt --model --reasoning-level" },
  { command: `${one} interrupt` },
  { command: `${one} relaunch`, flags: "--chat-session-mode --chat-session-id" },
  { command: "svc-mgr agents single stop" },
  { command: "svc-mgr agents single cleanup" },
  { command: "svc-mgr agents self identity" },
  {
    command: "svc-mgr agents self join",
    flags: "--agent-name --agent-id --headless --tool --launch-args --launch-env --workdir --resume-id",
  },
  { command: `${one} gateway attach`, flags: `--background ${timings.join(" ")}` },
  { command: `${one} gateway detach` },
  { command: `${one} gateway status` },
  { command: `${one} gateway interrupt` },
  { command: `${one} gateway reconcile` },
  { command: `${one} gateway prompt`, flags: "--prompt --admission-policy" },
  { command: `${one} gateway send-keys`, flags: "--sequence --escape-special-keys" },
  { command: `${one} gateway tui state` },
  { command: `${one} gateway tui history` },
  { command: `${one} gateway tui note-prompt`, flags: "--prompt" },
  { command: `${one} gateway tui watch`, flags: "--interval-seconds" },
  { command: `${one} gateway mail-notifier status` },
  { command: `${one} gateway mail-notifier disable` },
  {
    command: `${one} gateway mail-notifier enable`,
    flags:
      "--interval-seconds --mode --appendix-text --context-error-policy --pre-notification-context-action",
  },
  { command: `${one} gateway reminders list` },
  { command: `${one} gateway reminders get` },
  { command: `${one} gateway reminders create`, flags: reminder },
  { command: `${one} gateway reminders set`, flags: reminder },
  { command: `${one} gateway reminders remove` },
  {
    command: `${one} turn submit`,
    flags: "--prompt --model --reasoning-level --chat-session-mode --chat-session-id",
  },
  { command: `${one} turn status` },
  { command: `${one} turn events`, flags: "--detail" },
  { command: `${one} turn stdout` },
  { command: `${one} turn stderr` },
  { command: `${one} mail resolve-live` },
  { command: `${one} mail status` },
  {
    command: `${one} mail list`,
    flags:
      "--box --include-body --read-state --answered-state --archived --not-archived --limit --since --query",
  },
  { command: `${one} mail peek`, flags: "--message-ref --box" },
  { command: `${one} mail read`, flags: "--message-ref --box" },
  { command: `${one} mail send`, flags: `--to --cc --subject ${body}` },
  { command: `${one} mail post`, flags: `--subject --reply-policy ${body}` },
  { command: `${one} mail reply`, flags: `--message-ref ${body}` },
  {
    command: `${one} mail mark`,
    flags: "--message-ref --read --unread --answered --unanswered --archived --unarchived",
  },
  { command: `${one} mail move`, flags: "--message-ref --destination-box" },
  { command: `${one} mail archive`, flags: "--message-ref" },
  {
    command: `${one} mailbox register`,
    flags: "--mailbox-root --principal-id --address --mode --yes",
  },
  { command: `${one} mailbox unregister`, flags: "--mode" },
  { command: `${one} mailbox status` },
  { command: "svc-mgr mailbox init", flags: "--mailbox-root" },
  { command: "svc-mgr mailbox status", flags: "--mailbox-root" },
  { command: "svc-mgr mailbox register", flags: "--address --principal-id --mode --yes" },
  { command: "svc-mgr mailbox unregister", flags: "--address --mode" },
  { command: "svc-mgr mailbox repair" },
  { command: "svc-mgr mailbox cleanup" },
  { command: "svc-mgr mailbox clear-messages" },
  { command: "svc-mgr mailbox export", flags: "--output-dir" },
  { command: "svc-mgr mailbox accounts list" },
  { command: "svc-mgr mailbox accounts get", flags: "--address" },
  { command: "svc-mgr mailbox messages list", flags: "--address" },
  { command: "svc-mgr mailbox messages get", flags: "--address --message-id" },
  { command: "svc-mgr mailbox messages clear", flags: "--address" },
  { command: "svc-mgr system-skills install", flags: "--tool --home --symlink" },
  { command: "svc-mgr completion bash" },
  { command: "svc-mgr completion zsh" },
  { command: "svc-mgr completion fish" },
];
