import { noticeMaxChars } from "../protocol/mail.ts";
import type { NotifierUpdate } from "../protocol/notifier.ts";
import type { Files } from "../system/files.ts";
import type { Flags, Values } from "./command.ts";
import { readFileFlag, toWholeNumber } from "./flag-values.ts";

/** Flags of `mail-notifier enable` that say which notices of senders a wake-up shows (contract 2.6). */
export const notifyBlockFlags = {
  "notify-block-render": {
    type: "enum",
    options: ["enabled", "disabled"],
    description: "show what senders put into a notify block, or only that mail came",
  },
  "notify-block-auth-mode": {
    type: "enum",
    options: ["permissive-log", "required"],
    description: "show blocks whose sender is not proved, or only proved ones",
  },
  "notify-block-auth-verifier": {
    type: "enum",
    options: ["none", "shared-token"],
    description: "how a sender is proved",
  },
  "notify-block-token-file": {
    type: "string",
    description: "the shared tokens, one on each line; an empty file takes them all away",
    valueHint: "FILE",
  },
  "notify-block-per-message-chars": {
    type: "string",
    description: "longest block of one message",
    valueHint: "N",
  },
  "notify-block-total-chars": { type: "string", description: "of all blocks together", valueHint: "N" },
} satisfies Flags;

/** What was given of them. Tokens come from a file only: a command line is seen by every process. */
export async function readNotifyBlockFlags(
  args: Values<typeof notifyBlockFlags>,
  files: Pick<Files, "readInput">,
  cwd: string,
): Promise<Partial<NotifierUpdate>> {
  const perMessage = args["notify-block-per-message-chars"];
  const total = args["notify-block-total-chars"];
  const fields = {
    notify_block_render: args["notify-block-render"],
    notify_block_auth_mode: args["notify-block-auth-mode"],
    notify_block_auth_verifier: args["notify-block-auth-verifier"],
    notify_block_shared_tokens: await readTokens(args["notify-block-token-file"], files, cwd),
    notify_block_per_message_chars: toWholeNumber(
      "notify-block-per-message-chars",
      perMessage,
      1,
      noticeMaxChars,
    ),
    notify_block_total_chars: toWholeNumber("notify-block-total-chars", total, 0, 65_536),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

async function readTokens(
  path: string | undefined,
  files: Pick<Files, "readInput">,
  cwd: string,
): Promise<string[] | undefined> {
  if (path === undefined) return undefined;
  const text = await readFileFlag("notify-block-token-file", path, { files, cwd });
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
