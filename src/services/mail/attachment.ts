import type { AttachmentInput } from "../../protocol/mail.ts";
import type { WhyNotRead } from "../../system/regular-files.ts";

/** Attachments. Source: spec/mailbox-agui.md A1. Pure. */

export const maxAttachments = 50;
export const maxAttachmentBytes = 25 * 1024 * 1024;

const mediaTypes: Readonly<Record<string, string>> = {
  csv: "text/csv",
  diff: "text/x-diff",
  gif: "image/gif",
  gz: "application/gzip",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  jsonl: "application/jsonl",
  log: "text/plain",
  md: "text/markdown",
  mp4: "video/mp4",
  patch: "text/x-diff",
  pdf: "application/pdf",
  png: "image/png",
  py: "text/x-python",
  sh: "application/x-sh",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  toml: "application/toml",
  ts: "text/x-typescript",
  txt: "text/plain",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
};

/** A file to attach, and the folders below which it has to lie; without `below` it may lie anywhere. */
export interface DraftAttachment extends AttachmentInput {
  below?: readonly string[] | undefined;
}

/** Why a file cannot be attached, as a clause, with what to do where that helps. */
export const whyNotAttached: Record<WhyNotRead, string> = {
  absent: "does not exist",
  unreadable: "cannot be read",
  not_regular: "is not a regular file",
  too_large: "is too large",
  of_kernel: "lies in a file system of the kernel",
  outside:
    "does not lie below the agent's working directory. Copy it there, or name its folder: svc-mgr agents single --agent-name NAME gateway attach --attachment-root FOLDER",
};

/** By the extension of the name; an unknown one is application/octet-stream. */
export function mediaTypeOf(fileName: string): string {
  const ending = /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase();
  return (ending === undefined ? undefined : mediaTypes[ending]) ?? "application/octet-stream";
}

/** The last part of a path, with control characters replaced. */
export function fileNameOf(path: string): string {
  const name = path.split("/").findLast((part) => part !== "") ?? "";
  return name.replace(/[\x00-\x1f\x7f-\x9f]/g, "_");
}
