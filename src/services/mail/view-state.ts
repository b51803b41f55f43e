import { ServiceError } from "../../system/errors.ts";
import type { FlagChange } from "./mailbox.ts";

/** How a message stands in a mailbox. Source: contract 3.4; spec/mailbox-agui.md A6. Pure. */
export interface ViewState {
  box: string;
  read: boolean;
  answered: boolean;
}

export const inbox = "inbox";
export const sent = "sent";
export const archive = "archive";
/** Every mailbox has a folder of each. */
export const standardBoxes = [inbox, sent, archive, "drafts"] as const;

const maxBoxBytes = 200;

export const isArchived = (box: string) => box === archive;

/** A name of ASCII may be as long as its folder's; of any other character at most so many, of up to four bytes each. */
const maxBoxCharacters = 50;

/** The name of a box without the space around it. Throws `invalid_request` for what cannot be one. */
export function parseBox(text: string): string {
  const box = text.trim();
  const short = /^[\x00-\x7f]*$/.test(box) || [...box].length <= maxBoxCharacters;
  if (!short || !isBox(box)) throw new ServiceError("invalid_request", "not the name of a box");
  return box;
}

/** Whether a box may have this name, which is a folder's too. */
export function isBox(name: string): boolean {
  return (
    name !== "" &&
    name !== "." &&
    name !== ".." &&
    !/[/\\\x00-\x1f\x7f-\x9f]/.test(name) &&
    new TextEncoder().encode(name).length <= maxBoxBytes &&
    // Files of the mailbox itself.
    !name.startsWith("mailbox.sqlite")
  );
}

/** `home`: the box to which a message returns from the archive. Throws `invalid_request` for what excludes itself. */
export function planMark(state: ViewState, change: FlagChange, home: string): ViewState {
  const { read, answered, archived } = change;
  if (read === undefined && answered === undefined && archived === undefined) {
    throw new ServiceError("invalid_request", "mark needs at least one of read, answered, archived");
  }
  const box = archived === true ? archive : archived === false && isArchived(state.box) ? home : state.box;
  if (isArchived(box) && read === false) {
    throw new ServiceError("invalid_request", "an archived message is read: archived excludes read=false");
  }
  return {
    box,
    read: archived === true ? true : (read ?? state.read),
    answered: answered ?? state.answered,
  };
}

/** What lies in the archive is read. */
export function planMove(state: ViewState, box: string): ViewState {
  return { ...state, box, read: state.read || isArchived(box) };
}
