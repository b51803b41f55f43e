import { resolve } from "node:path";
import {
  type AttachmentInput,
  MailArchiveRequest,
  MailRefRequest,
  MailReplyRequest,
  NotifyBlockInput,
} from "../../protocol/mail.ts";
import type { Files } from "../../system/files.ts";
import { type CliIo, type Flags, UsageError, type Values } from "../command-line/command.ts";
import { fieldFlags } from "../command-line/field-flags.ts";
import { readFileFlag, readStdin } from "../command-line/flag-values.ts";

const notice = fieldFlags(NotifyBlockInput, {
  text: { flag: "notify-block", description: "short notice in the prompt that wakes the recipient" },
  placement: { flag: "notify-block-placement" },
});

const body = fieldFlags(MailReplyRequest, {
  message_ref: null,
  attachments: null,
  notify_block: null,
  notify_auth: null,
});

/** Flags of every command that writes a message. */
export const contentFlags = {
  ...body.flags,
  "body-file": {
    type: "string",
    description: "file with the text; without either, standard input is read",
    valueHint: "FILE",
  },
  attach: {
    type: "string",
    multiple: true,
    description: "a file to go with it",
    valueHint: "FILE",
  },
  ...notice.flags,
} satisfies Flags;

/** The message that a command looks at or answers. */
export const refFields = fieldFlags(MailRefRequest, {
  message_ref: { required: true, valueHint: "REF" },
  box: { valueHint: "BOX" },
});

const refs = fieldFlags(MailArchiveRequest, { message_refs: { flag: "message-ref", valueHint: "REF" } });

/** The messages that a command changes, for `readRefs`. */
export const refsFlag = refs.flags;

type ContentArgs = Values<typeof contentFlags>;

/** What `contentFlags` say. UsageError for no body or two, and for files that are not there. */
export async function readContent(
  args: ContentArgs,
  io: CliIo,
  files: Pick<Files, "readInput" | "stat">,
): Promise<{ body_content: string; attachments: AttachmentInput[]; notify_block?: NotifyBlockInput }> {
  const { text, placement } = notice.read(args);
  if (placement !== undefined && text === undefined) {
    throw new UsageError("--notify-block-placement goes with --notify-block");
  }
  const attachments = args.attach.map((path) => toAttachment(resolve(io.cwd, path), files));
  return {
    body_content: await readBody(args, io, files),
    attachments,
    ...(text === undefined ? {} : { notify_block: { text, ...(placement ? { placement } : {}) } }),
  };
}

/**
 * An empty text is sent only when it was given as such: what is empty by accident says nothing to anybody.
 */
async function readBody(args: ContentArgs, io: CliIo, files: Pick<Files, "readInput">): Promise<string> {
  const { body_content: content } = body.read(args);
  const { "body-file": file } = args;
  if (content !== undefined && file !== undefined) {
    throw new UsageError("give one of --body-content and --body-file, not both");
  }
  if (content !== undefined) return content;
  if (file === undefined && io.stdinIsTty) {
    throw new UsageError("give the text with --body-content, --body-file or on standard input");
  }
  const text =
    file === undefined ? await readStdin(io) : await readFileFlag("body-file", file, { files, cwd: io.cwd });
  if (text.trim() !== "") return text;
  const source = file === undefined ? "standard input" : `--body-file: ${file}`;
  throw new UsageError(`${source} is empty: give the text, or --body-content "" for a message without any`);
}

function toAttachment(path: string, files: Pick<Files, "stat">): AttachmentInput {
  const found = files.stat(path);
  if (!found) throw new UsageError(`--attach: there is no file ${path}`);
  if (found.directory) throw new UsageError(`--attach: ${path} is a folder`);
  return { path };
}

/** Each once. UsageError without any. */
export function readRefs(args: Values<typeof refsFlag>): string[] {
  const { message_refs: given } = refs.read(args);
  if (given === undefined) throw new UsageError("give --message-ref, once for each message");
  return [...new Set(given)];
}

/** Of two flags that exclude each other: true, false, or undefined when neither is given. */
export function choice(yes: boolean, no: boolean, names: readonly [string, string]): boolean | undefined {
  if (yes && no) throw new UsageError(`--${names[0]} and --${names[1]} exclude each other`);
  if (yes) return true;
  return no ? false : undefined;
}
