import {
  type NotifyAuth,
  type NotifyBlock,
  type NotifyBlockInput,
  noticeMaxChars,
} from "../../protocol/mail.ts";
import { extractNotice, mirrorNotice } from "./fence.ts";
import { invalidField } from "./invalid-field.ts";

/**
 * The notice of a message and the body that carries it: the caller's block, else the first fence of the body. A
 * block that the body lacks is written into it, so that whoever reads the mail sees what the recipient was told.
 * Throws `invalid_request` for a blank notice or one with NUL. Pure. Source: contract 2.5, 4.1 mail rule 5.
 */
export function withNotice(
  body: string,
  given: NotifyBlockInput | null | undefined,
): { body: string; notifyBlock: NotifyBlock | null } {
  if (!given) {
    const text = extractNotice(body);
    return { body, notifyBlock: text === null ? null : { text: clipNotice(text), placement: "append" } };
  }
  const text = given.text.replace(/\r\n?/g, "\n").trim().toWellFormed();
  if (text === "" || text.includes("\0")) {
    throw invalidField(["notify_block", "text"], "must hold text, without NUL");
  }
  const notifyBlock: NotifyBlock = { text: clipNotice(text), placement: given.placement ?? "append" };
  return { body: mirrorNotice(body, notifyBlock.text, notifyBlock.placement), notifyBlock };
}

/** At most 512 characters (code points); of a longer text the first 511 and an ellipsis (contract 8). Pure. */
export function clipNotice(text: string, maxChars = noticeMaxChars): string {
  if (text.length <= maxChars) return text;
  // As many characters as that take twice as many code units at most.
  const characters = [...text.slice(0, 2 * maxChars + 1)];
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join("")}…`;
}

/** Only `none` can be verified so far (contract 4.1 mail rule 6). Throws `invalid_request`. Pure. */
export function checkedAuth(given: NotifyAuth | null | undefined): NotifyAuth | null {
  if (given && given.scheme !== "none") {
    throw invalidField(["notify_auth", "scheme"], "verifier not yet supported");
  }
  return given ?? null;
}
