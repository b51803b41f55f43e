/**
 * What of a prompt may reach a terminal: CR and CRLF become LF; every other C0 control save TAB, DEL and the
 * C1 controls are dropped, so that no escape sequence ends the paste; newlines at the end go.
 */
export function stripControl(text: string): string {
  return dropControl(text).replace(/\n+$/, "");
}

/** The same without a word on newlines at the end: for text that is typed among keys. */
export function dropControl(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
