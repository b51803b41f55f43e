import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import {
  type DraftAttachment,
  fileNameOf,
  maxAttachmentBytes,
  maxAttachments,
  mediaTypeOf,
  whyNotAttached,
} from "../attachment.ts";
import type { JmapClient } from "./client.ts";

export interface Blob {
  blobId: string;
  type: string;
  name: string;
  disposition: "attachment";
}

/**
 * Takes files to the server, each a piece at a time. All are opened before the first is sent: throws
 * `invalid_request` for one that cannot be attached, and nothing was sent then.
 */
export async function uploadAll(
  deps: { client: JmapClient; files: Pick<Files, "openRegular"> },
  attachments: readonly DraftAttachment[],
): Promise<Blob[]> {
  if (attachments.length === 0) return [];
  if (attachments.length > maxAttachments) {
    throw new ServiceError("invalid_request", `a message has at most ${maxAttachments} attachments`);
  }
  const { maxUploadBytes } = await deps.client.session();
  using opened = new DisposableStack();
  const sources = attachments.map(({ path, label, below }, nth) => {
    const file = deps.files.openRegular(path, {
      maxBytes: Math.min(maxAttachmentBytes, maxUploadBytes),
      below,
    });
    if (!file.ok) {
      throw new ServiceError("invalid_request", `the attachment ${nth + 1} ${whyNotAttached[file.why]}`);
    }
    opened.defer(file.close);
    const name = fileNameOf(path);
    return { file, type: mediaTypeOf(name), name: label ?? name };
  });
  const blobs: Blob[] = [];
  for (const { file, type, name } of sources) {
    const { blobId, size } = await deps.client.upload(file.stream(), type);
    if (size !== file.size) {
      throw new ServiceError("invalid_request", `the file ${name} was changed while it was attached`);
    }
    blobs.push({ blobId, type, name, disposition: "attachment" });
  }
  return blobs;
}
