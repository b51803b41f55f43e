import type { LazyCommand } from "./command.ts";

/** What can be done with the mail of a mailbox, however it was named. */
export const mailCommands: Record<string, LazyCommand> = {
  status: () => import("./commands/agent/mail-status.ts").then((module) => module.default),
  list: () => import("./commands/agent/mail-list.ts").then((module) => module.default),
  peek: () => import("./commands/agent/mail-peek.ts").then((module) => module.default),
  read: () => import("./commands/agent/mail-read.ts").then((module) => module.default),
  send: () => import("./commands/agent/mail-send.ts").then((module) => module.default),
  post: () => import("./commands/agent/mail-post.ts").then((module) => module.default),
  reply: () => import("./commands/agent/mail-reply.ts").then((module) => module.default),
  mark: () => import("./commands/agent/mail-mark.ts").then((module) => module.default),
  move: () => import("./commands/agent/mail-move.ts").then((module) => module.default),
  archive: () => import("./commands/agent/mail-archive.ts").then((module) => module.default),
};
