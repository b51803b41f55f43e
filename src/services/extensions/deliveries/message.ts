import type { DeliveredItem } from "../../../protocol/delivery.ts";
import { visible, visibleLine } from "../../../system/visible.ts";

/** `answer`: the beginning of what the target said, untrusted and not kept. */
export type SendResult =
  | { ok: true; detail: string; answer: string }
  | {
      ok: false;
      /** Without addresses, secrets and text of the target. */
      error: string;
      askedMs: number | null;
      forGood: boolean;
      answer: string;
    };

export interface ToSend {
  deliveryId: string;
  createdMs: number;
  items: readonly DeliveredItem[];
  /** It is only to see whether the target works. */
  test?: boolean;
}

/** Of one attempt. */
export const defaultTimeoutSeconds = 10;

/** An item for a person: its summary, and below it what else its rule includes. Pure. */
export function toLine({ summary, options, command, evidence }: DeliveredItem): string {
  const about = command && [command.action, command.text].filter((part) => part).join(": ");
  const rest = [
    ...(about ? [about] : []),
    ...(options ?? []).map(({ answer, label }) => `${answer}. ${label}`),
    ...(evidence ?? []),
  ];
  return [visibleLine(summary), ...rest.map((line) => `  ${visible(line).replace(/\n/g, " ")}`)].join("\n");
}
