import { patterns } from "../../protocol/enforced.ts";
import type { ChatSession } from "../../protocol/gateway.ts";

const idForm = new RegExp(patterns.chatSessionId);

/**
 * Why a chat session cannot be meant, or null: an id belongs to `exact`, and nothing that reads as a flag is one. Holds for
 * terminal and headless agents alike, wherever a chat session is accepted (ruling 30).
 */
export function chatSessionProblem(wanted: ChatSession | undefined): string | null {
  if (!wanted) return null;
  if (wanted.mode !== "exact") {
    return wanted.id === undefined ? null : `chat_session.id belongs to mode exact, not ${wanted.mode}`;
  }
  if (wanted.id === undefined) return "chat_session.mode exact needs an id";
  return idForm.test(wanted.id) ? null : "chat_session.id: nothing invisible, and no dash in front";
}
